struct LaunchData {
    param_0_: u32,
    extent_x: u32,
}

@group(0) @binding(0) 
var<storage> x: array<vec4<u32>>;
@group(0) @binding(1) 
var<storage, read_write> y: array<vec4<u32>>;
@group(0) @binding(2) 
var<storage, read_write> sums: array<vec4<u32>>;
var<immediate> launch: LaunchData;

@compute @workgroup_size(256, 1, 1) 
fn bytes(@builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_id) local_id: vec3<u32>) {
    var local_0_: u32;

    let _e9 = launch.extent_x;
    let _e12 = (workgroup_id.x * 4096u);
    let _e13 = (_e9 - _e12);
    let _e15 = (local_id.x * 16u);
    let _e22 = (_e12 + _e15);
    let _e41 = launch.param_0_;
    if (_e13 >= (_e15 + 16u)) {
        let _e59 = x[(_e22 >> 4u)];
        let _e90 = y[(_e22 >> 4u)];
        let _e120 = ((_e41 * (_e59.x & 255u)) & 255u);
        let _e122 = ((_e41 * ((_e59.x >> 8u) & 255u)) & 255u);
        let _e124 = ((_e41 * ((_e59.x >> 16u) & 255u)) & 255u);
        let _e126 = ((_e41 * (_e59.x >> 24u)) & 255u);
        let _e128 = ((_e41 * (_e59.y & 255u)) & 255u);
        let _e130 = ((_e41 * ((_e59.y >> 8u) & 255u)) & 255u);
        let _e132 = ((_e41 * ((_e59.y >> 16u) & 255u)) & 255u);
        let _e134 = ((_e41 * (_e59.y >> 24u)) & 255u);
        let _e136 = ((_e41 * (_e59.z & 255u)) & 255u);
        let _e138 = ((_e41 * ((_e59.z >> 8u) & 255u)) & 255u);
        let _e140 = ((_e41 * ((_e59.z >> 16u) & 255u)) & 255u);
        let _e142 = ((_e41 * (_e59.z >> 24u)) & 255u);
        let _e144 = ((_e41 * (_e59.w & 255u)) & 255u);
        let _e146 = ((_e41 * ((_e59.w >> 8u) & 255u)) & 255u);
        let _e148 = ((_e41 * ((_e59.w >> 16u) & 255u)) & 255u);
        let _e150 = ((_e41 * (_e59.w >> 24u)) & 255u);
        let _e157 = (_e126 + (_e90.x >> 24u));
        let _e165 = (_e134 + (_e90.y >> 24u));
        let _e173 = (_e142 + (_e90.z >> 24u));
        let _e181 = (_e150 + (_e90.w >> 24u));
        y[(_e22 >> 4u)] = vec4<u32>((((((_e120 + (_e90.x & 255u)) & 255u) | (((_e122 + ((_e90.x >> 8u) & 255u)) & 255u) << 8u)) | (((_e124 + ((_e90.x >> 16u) & 255u)) & 255u) << 16u)) | (_e157 << 24u)), (((((_e128 + (_e90.y & 255u)) & 255u) | (((_e130 + ((_e90.y >> 8u) & 255u)) & 255u) << 8u)) | (((_e132 + ((_e90.y >> 16u) & 255u)) & 255u) << 16u)) | (_e165 << 24u)), (((((_e136 + (_e90.z & 255u)) & 255u) | (((_e138 + ((_e90.z >> 8u) & 255u)) & 255u) << 8u)) | (((_e140 + ((_e90.z >> 16u) & 255u)) & 255u) << 16u)) | (_e173 << 24u)), (((((_e144 + (_e90.w & 255u)) & 255u) | (((_e146 + ((_e90.w >> 8u) & 255u)) & 255u) << 8u)) | (((_e148 + ((_e90.w >> 16u) & 255u)) & 255u) << 16u)) | (_e181 << 24u)));
        let _e210 = (_e22 >> 2u);
        sums[_e210] = vec4<u32>(_e120, _e122, _e124, _e126);
        sums[(_e210 + 1u)] = vec4<u32>(_e128, _e130, _e132, _e134);
        sums[(_e210 + 2u)] = vec4<u32>(_e136, _e138, _e140, _e142);
        sums[(_e210 + 3u)] = vec4<u32>(_e144, _e146, _e148, _e150);
    } else {
        local_0_ = 0u;
        loop {
            let _e222 = local_0_;
            if (_e222 < select(0u, (_e13 - _e15), (_e15 < _e13))) {
            } else {
                break;
            }
            let _e224 = (_e22 + _e222);
            let _e225 = (_e224 >> 2u);
            let _e234 = x[(_e225 >> 2u)][(_e225 & 3u)];
            let _e237 = (_e224 >> 2u);
            let _e246 = y[(_e237 >> 2u)][(_e237 & 3u)];
            let _e250 = ((_e41 * ((_e234 >> ((_e224 << 3u) & 24u)) & 255u)) & 255u);
            let _e253 = (_e224 >> 2u);
            let _e255 = ((_e224 << 3u) & 24u);
            let _e265 = y[(_e253 >> 2u)][(_e253 & 3u)];
            y[(_e253 >> 2u)][(_e253 & 3u)] = ((_e265 & ~((255u << _e255))) | (((_e250 + ((_e246 >> ((_e224 << 3u) & 24u)) & 255u)) & 255u) << _e255));
            sums[(_e224 >> 2u)][(_e224 & 3u)] = _e250;
            continuing {
                let _e280 = local_0_;
                local_0_ = (_e280 + 1u);
            }
        }
    }
}
