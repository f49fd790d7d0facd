struct LaunchData {
    extent_x: u32,
    extent_y: u32,
}

@group(0) @binding(0) 
var<storage> x: array<f32>;
@group(0) @binding(1) 
var<storage, read_write> flags: array<u32>;
@group(0) @binding(2) 
var<storage, read_write> out: array<i32>;
@group(0) @binding(3) 
var<storage, read_write> trap_record: array<atomic<u32>>;
var<immediate> launch: LaunchData;

@compute @workgroup_size(256, 1, 1) 
fn control(@builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_id) local_id: vec3<u32>, @builtin(local_invocation_index) local_index: u32) {
    var local_0_: i32;
    var local_1_: i32;
    var scratch: array<i32, 5> = array<i32, 5>();

    let _e14 = launch.extent_x;
    let _e17 = (workgroup_id.x * 256u);
    let _e21 = (_e17 + local_id.x);
    let _e38 = launch.extent_y;
    let v0_ = u32(2139095040u);
    if (local_id.x < (_e14 - _e17)) {
        local_0_ = 0i;
        let _e53 = x[_e21];
        let _e62 = select(select(i32(select(0f, _e53, ((_e53 >= -2147483600f) && (_e53 < 2147483600f)))), 2147483647i, (_e53 >= 2147483600f)), i32(-2147483648), (_e53 < -2147483600f));
        local_1_ = 0i;
        loop {
            let _e63 = local_1_;
            if (_e63 < _e62) {
            } else {
                break;
            }
            if ((_e63 - ((_e63 / 7i) * 7i)) == 3i) {
                continue;
            } else {
                let _e69 = bitcast<u32>(_e63);
                let _e70 = (_e69 < 5u);
                let _e73 = scratch[select(0u, _e69, _e70)];
                let _e86 = bitcast<u32>(_e63);
                if (_e86 < 5u) {
                    scratch[_e86] = ((select(0i, _e73, _e70) + (_e63 / select(_e62, 1i, ((_e62 == 0i) || ((_e63 == i32(-2147483648)) && (_e62 == -1i)))))) - (_e63 << (_e21 & 31u)));
                }
                let _e89 = local_0_;
                let _e93 = scratch[bitcast<u32>((_e63 & 3i))];
                local_0_ = (_e89 + _e93);
            }
            let _e95 = local_0_;
            if (_e95 > 1000i) {
                break;
            }
            continuing {
                let _e97 = local_1_;
                local_1_ = select((_e97 + 3i), _e62, (bitcast<u32>((_e62 - _e97)) <= bitcast<u32>(3i)));
            }
        }
        loop {
            let _e104 = local_0_;
            if (_e104 > 100i) {
            } else {
                break;
            }
            let _e106 = local_0_;
            local_0_ = (_e106 - 100i);
            let _e109 = flags[_e21];
            if (_e109 != 0u) {
                let _e112 = atomicCompareExchangeWeak((&trap_record[0u]), 0u, 1u);
                if (_e112.old_value == 0u) {
                    atomicStore((&trap_record[1u]), 7u);
                    atomicStore((&trap_record[2u]), ((((0u * _e38) + 0u) * _e14) + _e21));
                    atomicStore((&trap_record[3u]), _e21);
                }
            }
        }
        let _e119 = x[_e21];
        if ((bitcast<u32>(_e119) & 2147483647u) > 2139095040u) {
            return;
        }
        let _e124 = x[_e21];
        let _e126 = flags[_e21];
        flags[_e21] = select(0u, 1u, (!((_e124 == bitcast<f32>(v0_))) && !((_e126 != 0u))));
        let _e134 = local_0_;
        let _e135 = max(_e134, i32(-2147483648));
        let _e136 = bitcast<u32>(_e135);
        let _e137 = bitcast<u32>(3i);
        let _e138 = (_e136 >> 16u);
        let _e139 = (_e136 & 65535u);
        let _e140 = (_e137 >> 16u);
        let _e141 = (_e137 & 65535u);
        let _e143 = (_e139 * _e140);
        let _e144 = (_e138 * _e141);
        out[_e21] = bitcast<i32>(((((((_e143 >> 16u) + (_e144 >> 16u)) + ((((_e143 & 65535u) + (_e144 & 65535u)) + ((_e139 * _e141) >> 16u)) >> 16u)) + (_e138 * _e140)) - select(0u, _e137, (_e135 < 0i))) - select(0u, _e136, (3i < 0i))));
    }
}
