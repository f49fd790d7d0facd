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
    var local_2_: u32;
    var scratch: array<i32, 5> = array<i32, 5>();

    let _e15 = launch.extent_x;
    let _e18 = (workgroup_id.x * 256u);
    let _e22 = (_e18 + local_id.x);
    let _e41 = launch.extent_y;
    let _e45 = ((((0u * _e41) + 0u) * _e15) + _e22);
    let v0_ = u32(2139095040u);
    if (local_id.x < (_e15 - _e18)) {
        local_0_ = 0i;
        let _e56 = x[_e22];
        let _e65 = select(select(i32(select(0f, _e56, ((_e56 >= -2147483600f) && (_e56 < 2147483600f)))), 2147483647i, (_e56 >= 2147483600f)), i32(-2147483648), (_e56 < -2147483600f));
        local_1_ = 0i;
        loop {
            let _e66 = local_1_;
            if (_e66 < _e65) {
            } else {
                break;
            }
            if ((_e66 - ((_e66 / 7i) * 7i)) == 3i) {
                continue;
            } else {
                let _e72 = bitcast<u32>(_e66);
                let _e73 = (_e72 < 5u);
                let _e76 = scratch[select(0u, _e72, _e73)];
                let _e89 = bitcast<u32>(_e66);
                if (_e89 < 5u) {
                    scratch[_e89] = ((select(0i, _e76, _e73) + (_e66 / select(_e65, 1i, ((_e65 == 0i) || ((_e66 == i32(-2147483648)) && (_e65 == -1i)))))) - (_e66 << (_e22 & 31u)));
                }
                let _e92 = local_0_;
                let _e96 = scratch[bitcast<u32>((_e66 & 3i))];
                local_0_ = (_e92 + _e96);
            }
            let _e98 = local_0_;
            if (_e98 > 1000i) {
                break;
            }
            continuing {
                let _e100 = local_1_;
                local_1_ = select((_e100 + 3i), _e65, (bitcast<u32>((_e65 - _e100)) <= bitcast<u32>(3i)));
            }
        }
        local_2_ = 0u;
        loop {
            let _e107 = local_0_;
            if (_e107 > 100i) {
            } else {
                break;
            }
            let _e109 = local_2_;
            let _e112 = ((4294967295u - _e109) < 1u);
            local_2_ = select((_e109 + 1u), _e109, _e112);
            if _e112 {
                let _e115 = atomicCompareExchangeWeak((&trap_record[0u]), 0u, 1u);
                if (_e115.old_value == 0u) {
                    atomicStore((&trap_record[1u]), 4294967295u);
                    atomicStore((&trap_record[2u]), _e45);
                    atomicStore((&trap_record[3u]), 13u);
                }
                break;
            }
            let _e121 = local_0_;
            local_0_ = (_e121 - 100i);
            let _e124 = flags[_e22];
            if (_e124 != 0u) {
                let _e127 = atomicCompareExchangeWeak((&trap_record[0u]), 0u, 1u);
                if (_e127.old_value == 0u) {
                    atomicStore((&trap_record[1u]), 7u);
                    atomicStore((&trap_record[2u]), _e45);
                    atomicStore((&trap_record[3u]), _e22);
                }
            }
        }
        let _e134 = x[_e22];
        if ((bitcast<u32>(_e134) & 2147483647u) > 2139095040u) {
            return;
        }
        let _e139 = x[_e22];
        let _e141 = flags[_e22];
        flags[_e22] = select(0u, 1u, (!((_e139 == bitcast<f32>(v0_))) && !((_e141 != 0u))));
        let _e149 = local_0_;
        let _e150 = max(_e149, i32(-2147483648));
        let _e151 = bitcast<u32>(_e150);
        let _e152 = bitcast<u32>(3i);
        let _e153 = (_e151 >> 16u);
        let _e154 = (_e151 & 65535u);
        let _e155 = (_e152 >> 16u);
        let _e156 = (_e152 & 65535u);
        let _e158 = (_e154 * _e155);
        let _e159 = (_e153 * _e156);
        out[_e22] = bitcast<i32>(((((((_e158 >> 16u) + (_e159 >> 16u)) + ((((_e158 & 65535u) + (_e159 & 65535u)) + ((_e154 * _e156) >> 16u)) >> 16u)) + (_e153 * _e155)) - select(0u, _e152, (_e150 < 0i))) - select(0u, _e151, (3i < 0i))));
    }
}
