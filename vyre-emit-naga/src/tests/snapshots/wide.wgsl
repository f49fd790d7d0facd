struct LaunchData {
    extent_x: u32,
}

@group(0) @binding(0) 
var<storage> x: array<vec2<u64>>;
@group(0) @binding(1) 
var<storage, read_write> y: array<vec2<i64>>;
@group(0) @binding(2) 
var<storage, read_write> z: array<vec2<i64>>;
@group(0) @binding(3) 
var<storage, read_write> low: array<vec4<u32>>;
var<immediate> launch: LaunchData;

@compute @workgroup_size(256, 1, 1) 
fn wide(@builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_id) local_id: vec3<u32>) {
    var local_0_: u32;

    let _e10 = launch.extent_x;
    let _e13 = (workgroup_id.x * 1024u);
    let _e14 = (_e10 - _e13);
    let _e16 = (local_id.x * 4u);
    let _e23 = (_e13 + _e16);
    if (_e14 >= (_e16 + 4u)) {
        let _e31 = (_e23 >> 1u);
        let _e33 = y[_e31];
        let _e38 = y[(_e31 + 1u)];
        let _e45 = (_e23 >> 1u);
        y[_e45] = vec2<i64>((_e33.x * 2li), (_e33.y * 2li));
        y[(_e45 + 1u)] = vec2<i64>((_e38.x * 2li), (_e38.y * 2li));
        let _e51 = (_e23 >> 1u);
        let _e53 = x[_e51];
        let _e58 = x[(_e51 + 1u)];
        let _e65 = (_e23 >> 1u);
        z[_e65] = vec2<i64>(bitcast<i64>(_e53.x), bitcast<i64>(_e53.y));
        z[(_e65 + 1u)] = vec2<i64>(bitcast<i64>(_e58.x), bitcast<i64>(_e58.y));
        low[(_e23 >> 2u)] = vec4<u32>(u32(_e53.x), u32(_e53.y), u32(_e58.x), u32(_e58.y));
    } else {
        local_0_ = 0u;
        loop {
            let _e79 = local_0_;
            if (_e79 < select(0u, (_e14 - _e16), (_e16 < _e14))) {
            } else {
                break;
            }
            let _e81 = (_e23 + _e79);
            let _e88 = y[(_e81 >> 1u)][(_e81 & 1u)];
            y[(_e81 >> 1u)][(_e81 & 1u)] = (_e88 * 2li);
            let _e102 = x[(_e81 >> 1u)][(_e81 & 1u)];
            z[(_e81 >> 1u)][(_e81 & 1u)] = bitcast<i64>(_e102);
            let _e116 = x[(_e81 >> 1u)][(_e81 & 1u)];
            low[(_e81 >> 2u)][(_e81 & 3u)] = u32(_e116);
            continuing {
                let _e124 = local_0_;
                local_0_ = (_e124 + 1u);
            }
        }
    }
}
