struct LaunchData {
    length_0_: u32,
    length_1_: u32,
}

@group(0) @binding(0) 
var<storage> weights: array<f32>;
@group(0) @binding(1) 
var<storage, read_write> total: array<atomic<u32>>;
var<immediate> launch: LaunchData;
var<workgroup> counts: array<atomic<u32>, 4>;

@compute @workgroup_size(64, 1, 1) 
fn lanes(@builtin(local_invocation_index) local_index: u32, @builtin(subgroup_invocation_id) subgroup_lane: u32, @builtin(subgroup_size) subgroup_size: u32) {
    var local_0_: u32;
    var local_1_: f32;
    var local_2_: u32;

    let _e13 = launch.length_0_;
    let _e19 = launch.length_1_;
    if (local_index < 4u) {
        atomicStore((&counts[local_index]), 0u);
    }
    workgroupBarrier();
    let _e22 = (local_index < _e13);
    let _e25 = weights[select(0u, local_index, _e22)];
    let _e26 = select(0f, _e25, _e22);
    let _e27 = (subgroup_lane ^ 1u);
    let _e28 = (_e27 < subgroup_size);
    let _e30 = subgroupShuffle(_e26, select(0u, _e27, _e28));
    let _e32 = subgroupExclusiveAdd(local_index);
    let _e33 = (_e32 & 3u);
    let _e35 = atomicLoad((&counts[_e33]));
    local_0_ = _e35;
    loop {
        let _e36 = local_0_;
        let _e41 = atomicCompareExchangeWeak((&counts[_e33]), _e36, bitcast<u32>((bitcast<f32>(_e36) + select(0f, _e30, _e28))));
        local_0_ = _e41.old_value;
        if (_e41.old_value == _e36) {
            break;
        }
    }
    let _e44 = local_0_;
    storageBarrier();
    workgroupBarrier();
    let _e48 = atomicLoad((&counts[(local_index & 3u)]));
    local_1_ = 0f;
    if (0u < _e19) {
        let _e55 = atomicExchange((&total[0u]), bitcast<u32>(fma(exp(bitcast<f32>(_e48)), _e26, -0f)));
        local_1_ = bitcast<f32>(_e55);
    }
    let _e57 = local_1_;
    if (1u < _e19) {
        let _e61 = atomicLoad((&total[1u]));
        local_2_ = _e61;
        loop {
            let _e62 = local_2_;
            let _e67 = atomicCompareExchangeWeak((&total[1u]), _e62, bitcast<u32>((bitcast<f32>(_e62) + (_e57 / _e26))));
            local_2_ = _e67.old_value;
            if (_e67.old_value == _e62) {
                break;
            }
        }
        let _e70 = local_2_;
    }
}
