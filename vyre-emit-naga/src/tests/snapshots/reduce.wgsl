@group(0) @binding(0) 
var<storage> bufferA: array<f32>;
@group(0) @binding(1) 
var<storage, read_write> bufferB: array<f32>;
var<workgroup> tile: array<f32, 64>;

@compute @workgroup_size(64, 1, 1) 
fn reduce(@builtin(local_invocation_index) local_index: u32, @builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_id) local_id: vec3<u32>) {
    var local_0_: u32;

    let _e13 = bufferA[((workgroup_id.x * 64u) + local_id.x)];
    tile[local_index] = _e13;
    local_0_ = 32u;
    loop {
        workgroupBarrier();
        let _e16 = local_0_;
        if (_e16 == 0u) {
            break;
        }
        if (local_index < _e16) {
            let _e22 = tile[local_index];
            let _e24 = tile[(local_index + _e16)];
            tile[local_index] = (_e22 + _e24);
        } else {
            continue;
        }
        continuing {
            let _e27 = local_0_;
            local_0_ = (_e27 >> 1u);
        }
    }
    if (local_index == 0u) {
        let _e33 = tile[0u];
        bufferB[0u] = _e33;
    } else {
        return;
    }
    storageBarrier();
    workgroupBarrier();
}
