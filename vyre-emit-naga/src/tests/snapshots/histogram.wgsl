struct LaunchData {
    length_0_: u32,
}

@group(0) @binding(0) 
var<storage> data: array<u32>;
@group(0) @binding(1) 
var<storage, read_write> counts: array<atomic<u32>>;
var<immediate> launch: LaunchData;
var<workgroup> bins: array<atomic<u32>, 256>;

@compute @workgroup_size(256, 1, 1) 
fn histogram(@builtin(local_invocation_index) local_index: u32, @builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_id) local_id: vec3<u32>) {
    var local_0_: u32;

    let _e13 = ((workgroup_id.x * 256u) + local_id.x);
    let _e15 = launch.length_0_;
    atomicStore((&bins[local_index]), 0u);
    workgroupBarrier();
    let _e21 = (_e13 < _e15);
    let _e24 = data[select(0u, _e13, _e21)];
    local_0_ = 0u;
    loop {
        let _e26 = local_0_;
        if (_e26 < 4u) {
        } else {
            break;
        }
        let _e32 = atomicAdd((&bins[((select(0u, _e24, _e21) >> (_e26 * 8u)) & 255u)]), 1u);
        continuing {
            let _e33 = local_0_;
            local_0_ = (_e33 + 1u);
        }
    }
    workgroupBarrier();
    let _e36 = atomicLoad((&bins[local_index]));
    if (_e36 > 0u) {
        let _e39 = atomicAdd((&counts[local_index]), _e36);
    }
}
