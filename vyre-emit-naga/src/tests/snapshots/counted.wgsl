struct LaunchData {
    param_0_: u32,
    extent_x: u32,
}

@group(0) @binding(0) 
var<storage> x: array<f32>;
@group(0) @binding(1) 
var<storage, read_write> y: array<f32>;
var<immediate> launch: LaunchData;

@compute @workgroup_size(256, 1, 1) 
fn counted(@builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_id) local_id: vec3<u32>) {
    var local_0_: f32;
    var local_1_: u32;

    let _e9 = launch.extent_x;
    let _e12 = (workgroup_id.x * 256u);
    let _e20 = launch.param_0_;
    if (local_id.x < (_e9 - _e12)) {
        local_0_ = 0f;
        local_1_ = 0u;
        loop {
            let _e23 = local_1_;
            if (_e23 < 4096u) {
            } else {
                break;
            }
            let _e25 = local_0_;
            let _e27 = x[_e23];
            local_0_ = fma(_e25, bitcast<f32>(_e20), _e27);
            continuing {
                let _e29 = local_1_;
                local_1_ = (_e29 + 1u);
            }
        }
        let _e31 = local_0_;
        y[(_e12 + local_id.x)] = _e31;
    }
}
