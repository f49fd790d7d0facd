struct LaunchData {
    param_0_: u32,
    extent_x: u32,
}

@group(0) @binding(0) 
var<storage> x: array<f32>;
@group(0) @binding(1) 
var<storage, read_write> y: array<vec4<f32>>;
var<immediate> launch: LaunchData;

@compute @workgroup_size(256, 1, 1) 
fn counted(@builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_id) local_id: vec3<u32>) {
    var local_0_: f32;
    var local_1_: f32;
    var local_2_: f32;
    var local_3_: f32;
    var local_4_: u32;
    var local_5_: u32;
    var local_6_: f32;
    var local_7_: u32;

    let _e15 = launch.extent_x;
    let _e18 = (workgroup_id.x * 1024u);
    let _e19 = (_e15 - _e18);
    let _e21 = (local_id.x * 4u);
    let _e28 = (_e18 + _e21);
    let _e35 = launch.param_0_;
    let _e36 = bitcast<f32>(_e35);
    if (_e19 >= (_e21 + 4u)) {
        local_0_ = 0f;
        local_1_ = 0f;
        local_2_ = 0f;
        local_3_ = 0f;
        local_4_ = 0u;
        loop {
            let _e40 = local_4_;
            if (_e40 < 4096u) {
            } else {
                break;
            }
            let _e42 = local_0_;
            let _e43 = local_1_;
            let _e44 = local_2_;
            let _e45 = local_3_;
            let _e47 = x[_e40];
            local_0_ = fma(_e42, _e36, _e47);
            local_1_ = fma(_e43, _e36, _e47);
            local_2_ = fma(_e44, _e36, _e47);
            local_3_ = fma(_e45, _e36, _e47);
            continuing {
                let _e52 = local_4_;
                local_4_ = (_e52 + 1u);
            }
        }
        let _e54 = local_0_;
        let _e55 = local_1_;
        let _e56 = local_2_;
        let _e57 = local_3_;
        y[(_e28 >> 2u)] = vec4<f32>(_e54, _e55, _e56, _e57);
    } else {
        local_5_ = 0u;
        loop {
            let _e61 = local_5_;
            if (_e61 < select(0u, (_e19 - _e21), (_e21 < _e19))) {
            } else {
                break;
            }
            let _e63 = (_e28 + _e61);
            local_6_ = 0f;
            local_7_ = 0u;
            loop {
                let _e64 = local_7_;
                if (_e64 < 4096u) {
                } else {
                    break;
                }
                let _e66 = local_6_;
                let _e68 = x[_e64];
                local_6_ = fma(_e66, _e36, _e68);
                continuing {
                    let _e70 = local_7_;
                    local_7_ = (_e70 + 1u);
                }
            }
            let _e72 = local_6_;
            y[(_e63 >> 2u)][(_e63 & 3u)] = _e72;
            continuing {
                let _e79 = local_5_;
                local_5_ = (_e79 + 1u);
            }
        }
    }
}
