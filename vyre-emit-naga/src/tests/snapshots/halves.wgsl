struct LaunchData {
    param_0_: u32,
    extent_x: u32,
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
    if (_e12 >= (_e14 + 8u)) {
        let _e66 = x[(_e21 >> 3u)];
        let _e89 = y[(_e21 >> 3u)];
        let _e150 = (unpack2x16float(pack2x16float(vec2<f32>((_e54 * unpack2x16float(_e66.x).x), 0f))).x + unpack2x16float(_e89.x).x);
        let _e155 = (unpack2x16float(pack2x16float(vec2<f32>((_e54 * unpack2x16float(_e66.x).y), 0f))).x + unpack2x16float(_e89.x).y);
        let _e160 = (unpack2x16float(pack2x16float(vec2<f32>((_e54 * unpack2x16float(_e66.y).x), 0f))).x + unpack2x16float(_e89.y).x);
        let _e165 = (unpack2x16float(pack2x16float(vec2<f32>((_e54 * unpack2x16float(_e66.y).y), 0f))).x + unpack2x16float(_e89.y).y);
        let _e170 = (unpack2x16float(pack2x16float(vec2<f32>((_e54 * unpack2x16float(_e66.z).x), 0f))).x + unpack2x16float(_e89.z).x);
        let _e175 = (unpack2x16float(pack2x16float(vec2<f32>((_e54 * unpack2x16float(_e66.z).y), 0f))).x + unpack2x16float(_e89.z).y);
        let _e180 = (unpack2x16float(pack2x16float(vec2<f32>((_e54 * unpack2x16float(_e66.w).x), 0f))).x + unpack2x16float(_e89.w).x);
        let _e185 = (unpack2x16float(pack2x16float(vec2<f32>((_e54 * unpack2x16float(_e66.w).y), 0f))).x + unpack2x16float(_e89.w).y);
        y[(_e21 >> 3u)] = vec4<u32>(pack2x16float(vec2<f32>(_e150, _e155)), pack2x16float(vec2<f32>(_e160, _e165)), pack2x16float(vec2<f32>(_e170, _e175)), pack2x16float(vec2<f32>(_e180, _e185)));
    } else {
        local_0_ = 0u;
        loop {
            let _e201 = local_0_;
            if (_e201 < select(0u, (_e12 - _e14), (_e14 < _e12))) {
            } else {
                break;
            }
            let _e203 = (_e21 + _e201);
            let _e204 = (_e203 >> 1u);
            let _e213 = x[(_e204 >> 2u)][(_e204 & 3u)];
            let _e218 = (_e203 >> 1u);
            let _e227 = y[(_e218 >> 2u)][(_e218 & 3u)];
            let _e237 = (unpack2x16float(pack2x16float(vec2<f32>((_e54 * unpack2x16float(((_e213 >> ((_e203 << 4u) & 16u)) & 65535u)).x), 0f))).x + unpack2x16float(((_e227 >> ((_e203 << 4u) & 16u)) & 65535u)).x);
            let _e244 = (_e203 >> 1u);
            let _e246 = ((_e203 << 4u) & 16u);
            let _e256 = y[(_e244 >> 2u)][(_e244 & 3u)];
            y[(_e244 >> 2u)][(_e244 & 3u)] = ((_e256 & ~((65535u << _e246))) | (pack2x16float(vec2<f32>(_e237, 0f)) << _e246));
            continuing {
                let _e265 = local_0_;
                local_0_ = (_e265 + 1u);
            }
        }
    }
}
