struct LaunchData {
    length_0_: u32,
    param_0_: u32,
}

@group(0) @binding(0) 
var<storage> bufferA: array<f32>;
@group(0) @binding(1) 
var<storage, read_write> bufferB: array<f32>;
@group(0) @binding(2) 
var<uniform> launch: LaunchData;

@compute @workgroup_size(64, 1, 1) 
fn saxpy(@builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_id) local_id: vec3<u32>) {
    let _e10 = ((workgroup_id.x * 64u) + local_id.x);
    let _e12 = launch.length_0_;
    if (_e10 < _e12) {
        let _e15 = launch.param_0_;
        let _e18 = bufferA[_e10];
        let _e20 = bufferB[_e10];
        bufferB[_e10] = fma(bitcast<f32>(_e15), _e18, _e20);
    }
}
