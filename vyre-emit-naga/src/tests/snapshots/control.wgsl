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
fn control(@builtin(workgroup_id) workgroup_id: vec3<u32>, @builtin(local_invocation_id) local_id: vec3<u32>) {
    var local_0_: i32;
    var local_1_: i32;
    var local_2_: u32;
    var scratch: array<i32, 5> = array<i32, 5>();

    let _e14 = launch.extent_x;
    let _e17 = (workgroup_id.x * 256u);
    let _e21 = (_e17 + local_id.x);
    let _e40 = launch.extent_y;
    let _e44 = ((((0u * _e40) + 0u) * _e14) + _e21);
    let v0_ = u32(2139095040u);
    if (local_id.x < (_e14 - _e17)) {
        local_0_ = 0i;
        let _e55 = x[_e21];
        let _e64 = select(select(i32(select(0f, _e55, ((_e55 >= -2147483600f) && (_e55 < 2147483600f)))), 2147483647i, (_e55 >= 2147483600f)), i32(-2147483648), (_e55 < -2147483600f));
        local_1_ = 0i;
        loop {
            let _e65 = local_1_;
            if (_e65 < _e64) {
            } else {
                break;
            }
            if ((_e65 - ((_e65 / 7i) * 7i)) == 3i) {
                continue;
            } else {
                let _e71 = bitcast<u32>(_e65);
                let _e72 = (_e71 < 5u);
                let _e75 = scratch[select(0u, _e71, _e72)];
                let _e88 = bitcast<u32>(_e65);
                if (_e88 < 5u) {
                    scratch[_e88] = ((select(0i, _e75, _e72) + (_e65 / select(_e64, 1i, ((_e64 == 0i) || ((_e65 == i32(-2147483648)) && (_e64 == -1i)))))) - (_e65 << (_e21 & 31u)));
                }
                let _e91 = local_0_;
                let _e95 = scratch[bitcast<u32>((_e65 & 3i))];
                local_0_ = (_e91 + _e95);
            }
            let _e97 = local_0_;
            if (_e97 > 1000i) {
                break;
            }
            continuing {
                let _e99 = local_1_;
                local_1_ = select((_e99 + 3i), _e64, (bitcast<u32>((_e64 - _e99)) <= bitcast<u32>(3i)));
            }
        }
        local_2_ = 0u;
        loop {
            let _e106 = local_0_;
            if (_e106 > 100i) {
            } else {
                break;
            }
            let _e108 = local_2_;
            let _e111 = ((4294967295u - _e108) < 1u);
            local_2_ = select((_e108 + 1u), _e108, _e111);
            if _e111 {
                let _e114 = atomicCompareExchangeWeak((&trap_record[0u]), 0u, 1u);
                if (_e114.old_value == 0u) {
                    atomicStore((&trap_record[1u]), 4294967295u);
                    atomicStore((&trap_record[2u]), _e44);
                    atomicStore((&trap_record[3u]), 13u);
                }
                break;
            }
            let _e120 = local_0_;
            local_0_ = (_e120 - 100i);
            let _e123 = flags[_e21];
            if (_e123 != 0u) {
                let _e126 = atomicCompareExchangeWeak((&trap_record[0u]), 0u, 1u);
                if (_e126.old_value == 0u) {
                    atomicStore((&trap_record[1u]), 7u);
                    atomicStore((&trap_record[2u]), _e44);
                    atomicStore((&trap_record[3u]), _e21);
                }
            }
        }
        let _e133 = x[_e21];
        if ((bitcast<u32>(_e133) & 2147483647u) > 2139095040u) {
            return;
        }
        let _e138 = x[_e21];
        let _e140 = flags[_e21];
        flags[_e21] = select(0u, 1u, (!((_e138 == bitcast<f32>(v0_))) && !((_e140 != 0u))));
        let _e148 = local_0_;
        let _e149 = max(_e148, i32(-2147483648));
        let _e150 = bitcast<u32>(_e149);
        let _e151 = bitcast<u32>(3i);
        let _e152 = (_e150 >> 16u);
        let _e153 = (_e150 & 65535u);
        let _e154 = (_e151 >> 16u);
        let _e155 = (_e151 & 65535u);
        let _e157 = (_e153 * _e154);
        let _e158 = (_e152 * _e155);
        out[_e21] = bitcast<i32>(((((((_e157 >> 16u) + (_e158 >> 16u)) + ((((_e157 & 65535u) + (_e158 & 65535u)) + ((_e153 * _e155) >> 16u)) >> 16u)) + (_e152 * _e154)) - select(0u, _e151, (_e149 < 0i))) - select(0u, _e150, (3i < 0i))));
    }
}
