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
fn saxpy(@builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_id) local_id: vec3<u32>) {
    let _e7 = launch.extent_x;
    let _e10 = (workgroup_id.x * 256u);
    let _e13 = (_e10 + local_id.x);
    let _e15 = launch.param_0_;
    if (local_id.x < (_e7 - _e10)) {
        let _e18 = x[_e13];
        let _e20 = y[_e13];
        y[_e13] = ((bitcast<f32>(_e15) * _e18) + _e20);
    }
}
