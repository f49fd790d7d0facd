struct LaunchData {
    param_0_: u32,
    extent_x: u32,
}

@group(0) @binding(0) 
var<storage> x: array<vec4<f32>>;
@group(0) @binding(1) 
var<storage, read_write> y: array<vec4<f32>>;
var<immediate> launch: LaunchData;

@compute @workgroup_size(256, 1, 1) 
fn saxpy(@builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_id) local_id: vec3<u32>) {
    var local_0_: u32;

    let _e8 = launch.extent_x;
    let _e11 = (workgroup_id.x * 1024u);
    let _e12 = (_e8 - _e11);
    let _e14 = (local_id.x * 4u);
    let _e21 = (_e11 + _e14);
    let _e26 = launch.param_0_;
    let _e27 = bitcast<f32>(_e26);
    if (_e12 >= (_e14 + 4u)) {
        let _e33 = x[(_e21 >> 2u)];
        let _e40 = y[(_e21 >> 2u)];
        y[(_e21 >> 2u)] = vec4<f32>(((_e27 * _e33.x) + _e40.x), ((_e27 * _e33.y) + _e40.y), ((_e27 * _e33.z) + _e40.z), ((_e27 * _e33.w) + _e40.w));
    } else {
        local_0_ = 0u;
        loop {
            let _e56 = local_0_;
            if (_e56 < select(0u, (_e12 - _e14), (_e14 < _e12))) {
            } else {
                break;
            }
            let _e58 = (_e21 + _e56);
            let _e65 = x[(_e58 >> 2u)][(_e58 & 3u)];
            let _e72 = y[(_e58 >> 2u)][(_e58 & 3u)];
            y[(_e58 >> 2u)][(_e58 & 3u)] = ((_e27 * _e65) + _e72);
            continuing {
                let _e81 = local_0_;
                local_0_ = (_e81 + 1u);
            }
        }
    }
}
