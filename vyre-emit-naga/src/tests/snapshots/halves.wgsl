struct LaunchData {
    param_0_: u32,
    extent_x: u32,
    zero: u32,
}

@group(0) @binding(0) 
var<storage> x: array<vec4<u32>>;
@group(0) @binding(1) 
var<storage, read_write> y: array<vec4<u32>>;
var<immediate> launch: LaunchData;

@compute @workgroup_size(256, 1, 1) 
fn halves(@builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_id) local_id: vec3<u32>) {
    var local_0_: u32;

    let _e8 = launch.extent_x;
    let _e11 = (workgroup_id.x * 2048u);
    let _e12 = (_e8 - _e11);
    let _e14 = (local_id.x * 8u);
    let _e21 = (_e11 + _e14);
    let _e30 = launch.param_0_;
    let _e36 = (_e30 & 32767u);
    let _e38 = (_e36 << 13u);
    let _e54 = bitcast<f32>((select(select((_e38 + 939524096u), (_e38 + 1879048192u), (_e36 >= 31744u)), bitcast<u32>((f32(_e36) * 0.000000059604645f)), (_e36 < 1024u)) | ((_e30 & 32768u) << 16u)));
    let _e57 = launch.zero;
    if (_e12 >= (_e14 + 8u)) {
        let _e68 = x[(_e21 >> 3u)];
        let _e91 = y[(_e21 >> 3u)];
        let _e160 = (unpack2x16float((pack2x16float(vec2<f32>((_e54 * unpack2x16float(_e68.x).x), 0f)) | _e57)).x + unpack2x16float(_e91.x).x);
        let _e166 = (unpack2x16float((pack2x16float(vec2<f32>((_e54 * unpack2x16float(_e68.x).y), 0f)) | _e57)).x + unpack2x16float(_e91.x).y);
        let _e172 = (unpack2x16float((pack2x16float(vec2<f32>((_e54 * unpack2x16float(_e68.y).x), 0f)) | _e57)).x + unpack2x16float(_e91.y).x);
        let _e178 = (unpack2x16float((pack2x16float(vec2<f32>((_e54 * unpack2x16float(_e68.y).y), 0f)) | _e57)).x + unpack2x16float(_e91.y).y);
        let _e184 = (unpack2x16float((pack2x16float(vec2<f32>((_e54 * unpack2x16float(_e68.z).x), 0f)) | _e57)).x + unpack2x16float(_e91.z).x);
        let _e190 = (unpack2x16float((pack2x16float(vec2<f32>((_e54 * unpack2x16float(_e68.z).y), 0f)) | _e57)).x + unpack2x16float(_e91.z).y);
        let _e196 = (unpack2x16float((pack2x16float(vec2<f32>((_e54 * unpack2x16float(_e68.w).x), 0f)) | _e57)).x + unpack2x16float(_e91.w).x);
        let _e202 = (unpack2x16float((pack2x16float(vec2<f32>((_e54 * unpack2x16float(_e68.w).y), 0f)) | _e57)).x + unpack2x16float(_e91.w).y);
        y[(_e21 >> 3u)] = vec4<u32>(pack2x16float(vec2<f32>(_e160, _e166)), pack2x16float(vec2<f32>(_e172, _e178)), pack2x16float(vec2<f32>(_e184, _e190)), pack2x16float(vec2<f32>(_e196, _e202)));
    } else {
        local_0_ = 0u;
        loop {
            let _e219 = local_0_;
            if (_e219 < select(0u, (_e12 - _e14), (_e14 < _e12))) {
            } else {
                break;
            }
            let _e221 = (_e21 + _e219);
            let _e222 = (_e221 >> 1u);
            let _e231 = x[(_e222 >> 2u)][(_e222 & 3u)];
            let _e236 = (_e221 >> 1u);
            let _e245 = y[(_e236 >> 2u)][(_e236 & 3u)];
            let _e256 = (unpack2x16float((pack2x16float(vec2<f32>((_e54 * unpack2x16float(((_e231 >> ((_e221 << 4u) & 16u)) & 65535u)).x), 0f)) | _e57)).x + unpack2x16float(((_e245 >> ((_e221 << 4u) & 16u)) & 65535u)).x);
            let _e264 = (_e221 >> 1u);
            let _e266 = ((_e221 << 4u) & 16u);
            let _e276 = y[(_e264 >> 2u)][(_e264 & 3u)];
            y[(_e264 >> 2u)][(_e264 & 3u)] = ((_e276 & ~((65535u << _e266))) | (pack2x16float(vec2<f32>(_e256, 0f)) << _e266));
            continuing {
                let _e285 = local_0_;
                local_0_ = (_e285 + 1u);
            }
        }
    }
}
