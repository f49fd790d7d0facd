@group(0) @binding(0) 
var<storage, read_write> bufferA: array<atomic<u32>>;
@group(0) @binding(1) 
var<storage, read_write> bufferB: array<atomic<i32>>;
@group(0) @binding(2) 
var<storage, read_write> trap: array<atomic<u32>>;
var<workgroup> tile: array<atomic<u32>, 8>;

@compute @workgroup_size(64, 1, 1) 
fn mixed() {
    var local_0_: bool;
    var stack: array<f32, 4> = array<f32, 4>();

    let _e11 = atomicAdd((&bufferA[0u]), 1u);
    atomicStore((&bufferA[1u]), u32(_e11));
    let _e15 = atomicAdd((&bufferB[0u]), -1i);
    atomicStore((&bufferA[1u]), u32(_e15));
    let _e19 = atomicAdd((&tile[0u]), 1u);
    atomicStore((&bufferA[1u]), u32(_e19));
    let _e23 = atomicSub((&bufferA[0u]), 1u);
    atomicStore((&bufferA[1u]), u32(_e23));
    let _e27 = atomicSub((&bufferB[0u]), -1i);
    atomicStore((&bufferA[1u]), u32(_e27));
    let _e31 = atomicSub((&tile[0u]), 1u);
    atomicStore((&bufferA[1u]), u32(_e31));
    let _e35 = atomicMin((&bufferA[0u]), 1u);
    atomicStore((&bufferA[1u]), u32(_e35));
    let _e39 = atomicMin((&bufferB[0u]), -1i);
    atomicStore((&bufferA[1u]), u32(_e39));
    let _e43 = atomicMin((&tile[0u]), 1u);
    atomicStore((&bufferA[1u]), u32(_e43));
    let _e47 = atomicMax((&bufferA[0u]), 1u);
    atomicStore((&bufferA[1u]), u32(_e47));
    let _e51 = atomicMax((&bufferB[0u]), -1i);
    atomicStore((&bufferA[1u]), u32(_e51));
    let _e55 = atomicMax((&tile[0u]), 1u);
    atomicStore((&bufferA[1u]), u32(_e55));
    let _e59 = atomicAnd((&bufferA[0u]), 1u);
    atomicStore((&bufferA[1u]), u32(_e59));
    let _e63 = atomicAnd((&bufferB[0u]), -1i);
    atomicStore((&bufferA[1u]), u32(_e63));
    let _e67 = atomicAnd((&tile[0u]), 1u);
    atomicStore((&bufferA[1u]), u32(_e67));
    let _e71 = atomicOr((&bufferA[0u]), 1u);
    atomicStore((&bufferA[1u]), u32(_e71));
    let _e75 = atomicOr((&bufferB[0u]), -1i);
    atomicStore((&bufferA[1u]), u32(_e75));
    let _e79 = atomicOr((&tile[0u]), 1u);
    atomicStore((&bufferA[1u]), u32(_e79));
    let _e83 = atomicXor((&bufferA[0u]), 1u);
    atomicStore((&bufferA[1u]), u32(_e83));
    let _e87 = atomicXor((&bufferB[0u]), -1i);
    atomicStore((&bufferA[1u]), u32(_e87));
    let _e91 = atomicXor((&tile[0u]), 1u);
    atomicStore((&bufferA[1u]), u32(_e91));
    let _e95 = atomicExchange((&bufferA[0u]), 1u);
    atomicStore((&bufferA[1u]), u32(_e95));
    let _e99 = atomicExchange((&bufferB[0u]), -1i);
    atomicStore((&bufferA[1u]), u32(_e99));
    let _e103 = atomicExchange((&tile[0u]), 1u);
    atomicStore((&bufferA[1u]), u32(_e103));
    let _e107 = atomicCompareExchangeWeak((&bufferA[0u]), 1u, 1u);
    atomicStore((&bufferA[1u]), u32(_e107.old_value));
    let _e112 = atomicCompareExchangeWeak((&bufferB[0u]), -1i, -1i);
    atomicStore((&bufferA[1u]), u32(_e112.old_value));
    let _e117 = atomicCompareExchangeWeak((&tile[0u]), 1u, 1u);
    atomicStore((&bufferA[1u]), u32(_e117.old_value));
    let _e122 = atomicLoad((&tile[1u]));
    atomicStore((&tile[0u]), _e122);
    let _e125 = stack[0u];
    stack[1u] = _e125;
    local_0_ = !((_e122 > 1u));
    let _e129 = local_0_;
    if _e129 {
        let _e131 = atomicCompareExchangeWeak((&trap[0u]), 0u, 1u);
    }
}
