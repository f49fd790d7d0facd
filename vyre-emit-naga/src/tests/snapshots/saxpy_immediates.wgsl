struct LaunchData {
    length_0_: u32,
    param_0_: u32,
}

@group(0) @binding(0) 
var<storage> bufferA: array<f32>;
@group(0) @binding(1) 
var<storage, read_write> bufferB: array<f32>;
var<immediate> launch: LaunchData;

@compute @workgroup_size(64, 1, 1) 
fn saxpy(@builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_id) local_id: vec3<u32>) {
    let _e9 = ((workgroup_id.x * 64u) + local_id.x);
    let _e11 = launch.length_0_;
    if (_e9 < _e11) {
        let _e14 = launch.param_0_;
        let _e17 = bufferA[_e9];
        let _e19 = bufferB[_e9];
        bufferB[_e9] = fma(bitcast<f32>(_e14), _e17, _e19);
    }
}
