#!/usr/bin/env python3
"""Compares gpu/agent/cupti/cupti_abi.h and pc_abi.h with CUPTI's own headers, of any version.

    real_headers.py FOLDER...

Both define the same names, so each is compiled into a program of its own that prints offsets and numbers. Prints how
much was compared. The CUDA headers that CUPTI's include are in another package: what is needed of them is declared here,
with its size.
"""
import os
import re
import subprocess
import sys
import tempfile

CUDA_H = """
#ifndef CUDA_H
#define CUDA_H
#include <stddef.h>
#include <stdint.h>
#define CUDAAPI
typedef struct CUuuid_st { char bytes[16]; } CUuuid;
typedef struct { void *base; size_t size; float ratio; int hit, miss; } CUaccessPolicyWindow;
typedef union { char bytes[64]; } CUstreamAttrValue;
typedef int CUdevice, CUresult, CUgraphNodeType, CUstreamAttrID, CUdevice_attribute;
typedef void *CUcontext, *CUstream, *CUgraph, *CUgraphNode, *CUgraphExec, *CUfunction, *CUmodule, *CUevent;
#endif
"""

# Our record: its name in CUPTI, the first version that the agent reads, and the fields as ours=theirs.
RECORDS = {
    "cupti_kernel": ("Kernel", 4, """kind registers=registersPerThread start end device=deviceId context=contextId
        stream=streamId grid=gridX block=blockX static_shared=staticSharedMemory dynamic_shared=dynamicSharedMemory
        local_per_thread=localMemoryPerThread local_total=localMemoryTotal correlation=correlationId grid_id=gridId
        name queued submitted graph_node=graphNodeId graph=graphId"""),
    "cupti_memcpy": ("Memcpy", 1, """kind copy_kind=copyKind source_kind=srcKind destination_kind=dstKind flags bytes
        start end device=deviceId context=contextId stream=streamId correlation=correlationId
        graph_node=graphNodeId graph=graphId"""),
    "cupti_memcpy_peer": ("MemcpyPtoP", 1, """kind copy_kind=copyKind source_kind=srcKind destination_kind=dstKind
        flags bytes start end device=deviceId context=contextId stream=streamId source_device=srcDeviceId
        destination_device=dstDeviceId correlation=correlationId graph_node=graphNodeId graph=graphId"""),
    "cupti_memset": ("Memset", 1, """kind value bytes start end device=deviceId context=contextId stream=streamId
        correlation=correlationId flags memory_kind=memoryKind graph_node=graphNodeId graph=graphId"""),
    "cupti_synchronization": ("Synchronization", 1, """kind type start end correlation=correlationId
        context=contextId stream=streamId event=cudaEventId"""),
    "cupti_overhead": ("Overhead", 1, """kind overhead_kind=overheadKind object_kind=objectKind object_id=objectId
        start end correlation=correlationId"""),
    "cupti_graph_trace": ("GraphTrace", 1, """kind correlation=correlationId start end device=deviceId graph=graphId
        context=contextId stream=streamId"""),
    "cupti_memory2": ("Memory", 2, """kind op=memoryOperationType memory_kind=memoryKind correlation=correlationId
        address bytes timestamp pc=PC pid=processId device=deviceId context=contextId stream=streamId name
        is_async=isAsync pool_type=memoryPoolConfig.memoryPoolType pool=memoryPoolConfig.address
        pool_release_threshold=memoryPoolConfig.releaseThreshold pool_size=memoryPoolConfig.pool.size"""),
    "cupti_memory_pool": ("MemoryPool", 1, """kind op=memoryPoolOperationType pool_type=memoryPoolType
        correlation=correlationId pid=processId device=deviceId min_bytes_to_keep=minBytesToKeep address size
        release_threshold=releaseThreshold timestamp"""),
    "cupti_device": ("Device", 2, """kind bandwidth_kb_s=globalMemoryBandwidth memory_bytes=globalMemorySize
        constant_bytes=constantMemorySize l2_bytes=l2CacheSize warp_threads=numThreadsPerWarp
        core_clock_khz=coreClockRate nr_sms=numMultiprocessors max_warps_per_sm=maxWarpsPerMultiprocessor
        cc_major=computeCapabilityMajor cc_minor=computeCapabilityMinor id uuid name"""),
}
STRUCTS = {
    "struct cupti_callback_data": ("CUpti_CallbackData", """site=callbackSite function_name=functionName
        function_params=functionParams function_return_value=functionReturnValue symbol_name=symbolName context
        context_uid=contextUid correlation_data=correlationData correlation_id=correlationId"""),
    "struct cupti_graph_data": ("CUpti_GraphData", """graph original_graph=originalGraph node
        original_node=originalNode"""),
    "struct cupti_resource_data": ("CUpti_ResourceData", "context graph=resourceDescriptor"),
    "struct cupti_subscriber_params": ("CUpti_SubscriberParams", """size=structSize name=subscriberName
        old_name=oldSubscriberName old_name_size=oldSubscriberSize"""),
    "struct cupti_module_data": ("CUpti_ModuleResourceData", "id=moduleId cubin_bytes=cubinSize cubin=pCubin"),
    "struct cupti_pc_stall": ("CUpti_PCSamplingStallReason", "reason=pcSamplingStallReasonIndex samples"),
    "struct cupti_pc": ("CUpti_PCSamplingPCData", """size cubin_crc=cubinCrc pc_offset=pcOffset
        function_index=functionIndex function_name=functionName nr_stalls=stallReasonCount stalls=stallReason
        correlation_id=correlationId"""),
    "struct cupti_pc_data": ("CUpti_PCSamplingData", """size max_pcs=collectNumPcs total_samples=totalSamples
        dropped_samples=droppedSamples nr_pcs=totalNumPcs nr_remaining=remainingNumPcs range_id=rangeId pcs=pPcData
        foreign_samples=nonUsrKernelsTotalSamples buffer_is_full=hardwareBufferFull"""),
    "struct cupti_pc_setting": ("CUpti_PCSamplingConfigurationInfo", """attribute=attributeType status=attributeStatus
        all=attributeData period=attributeData.samplingPeriodData.samplingPeriod
        stalls.nr=attributeData.stallReasonData.stallReasonCount
        stalls.reasons=attributeData.stallReasonData.pStallReasonIndex
        bytes=attributeData.scratchBufferSizeData.scratchBufferSize mode=attributeData.collectionModeData.collectionMode
        data=attributeData.samplingDataBufferData.samplingDataBuffer"""),
    "struct cupti_pc_settings": ("CUpti_PCSamplingConfigurationInfoParams", """size priv=pPriv context=ctx
        nr=numAttributes settings=pPCSamplingConfigurationInfo"""),
    "struct cupti_pc_context": ("CUpti_PCSamplingEnableParams", "size priv=pPriv context=ctx"),
    "struct cupti_pc_get_data": ("CUpti_PCSamplingGetDataParams", "size priv=pPriv context=ctx data=pcSamplingData"),
    "struct cupti_pc_nr_stalls": ("CUpti_PCSamplingGetNumStallReasonsParams", "size priv=pPriv context=ctx ret_nr=numStallReasons"),
    "struct cupti_pc_stall_names": ("CUpti_PCSamplingGetStallReasonsParams", """size priv=pPriv context=ctx
        nr=numStallReasons reasons=stallReasonIndex names=stallReasons"""),
    "struct cupti_source_line": ("CUpti_GetSassToSourceCorrelationParams", """size cubin function_name=functionName
        cubin_bytes=cubinSize line=lineNumber pc_offset=pcOffset file=fileName folder=dirName"""),
    "struct cupti_cubin_crc": ("CUpti_GetCubinCrcParams", "size cubin_bytes=cubinSize cubin crc=cubinCrc"),
}
# The record size from which a field is read, and the field. Other fields must be in the first version.
SIZES = {"CUPTI_KERNEL_SIZE": ("Kernel", "launchType"), "CUPTI_KERNEL_NODE_SIZE": ("Kernel", "graphNodeId"),
         "CUPTI_KERNEL_GRAPH_SIZE": ("Kernel", "graphId"), "CUPTI_MEMCPY_GRAPH_SIZE": ("Memcpy", "graphId"),
         "CUPTI_MEMCPY_SIZE": ("Memcpy", "runtimeCorrelationId"),
         "CUPTI_MEMCPY_PEER_SIZE": ("MemcpyPtoP", "correlationId"),
         "CUPTI_MEMCPY_PEER_GRAPH_SIZE": ("MemcpyPtoP", "graphId"), "CUPTI_MEMSET_SIZE": ("Memset", "memoryKind"),
         "CUPTI_MEMSET_GRAPH_SIZE": ("Memset", "graphId"), "CUPTI_OVERHEAD_SIZE": ("Overhead", "end"),
         "CUPTI_OVERHEAD_CORRELATION_SIZE": ("Overhead", "correlationId"),
         "CUPTI_MEMORY_POOL_SIZE": ("MemoryPool", "timestamp"),
         "CUPTI_SYNCHRONIZATION_SIZE": ("Synchronization", "cudaEventId"),
         "CUPTI_GRAPH_TRACE_SIZE": ("GraphTrace", "streamId"), "CUPTI_DEVICE_SIZE": ("Device", "name"),
         "CUPTI_MEMORY2_SIZE": ("Memory", "memoryPoolConfig.pool.size")}
# Structs that the agent passes whole: their size, as CUPTI's own macro or sizeof has it.
WHOLE = {"struct cupti_pc_settings": "CUpti_PCSamplingConfigurationInfoParamsSize",
         "struct cupti_pc_context": "CUpti_PCSamplingEnableParamsSize",
         "struct cupti_pc_get_data": "CUpti_PCSamplingGetDataParamsSize",
         "struct cupti_pc_nr_stalls": "CUpti_PCSamplingGetNumStallReasonsParamsSize",
         "struct cupti_pc_stall_names": "CUpti_PCSamplingGetStallReasonsParamsSize",
         "struct cupti_source_line": "CUpti_GetSassToSourceCorrelationParamsSize",
         "struct cupti_cubin_crc": "CUpti_GetCubinCrcParamsSize",
         "struct cupti_pc_stall": "sizeof(CUpti_PCSamplingStallReason)",
         "struct cupti_pc_setting": "sizeof(CUpti_PCSamplingConfigurationInfo)"}
FIRST = {theirs: first for theirs, first, _ in RECORDS.values()}
NUMBERS = """CUPTI_OK=CUPTI_SUCCESS CUPTI_ERROR_OUT_OF_MEMORY CUPTI_ERROR_MAX_LIMIT_REACHED CUPTI_ERROR_NOT_COMPATIBLE
    CUPTI_ERROR_NOT_INITIALIZED CUPTI_ERROR_INVALID_KIND CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
    CUPTI_ERROR_INVALID_OPERATION CUPTI_ERROR_HARDWARE_BUSY CUPTI_ERROR_NOT_SUPPORTED
    CUPTI_ERROR_VIRTUAL_DEVICE=CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED
    CUPTI_ERROR_OLD_PROFILER_API=CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED
    CUPTI_ERROR_VIRTUAL_DEVICE_PRIVILEGES=CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES
    CUPTI_ERROR_CONFIDENTIAL_COMPUTING=CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED
    CUPTI_ERROR_MINING_DEVICE=CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED
    CUPTI_ERROR_MIG_DEVICE=CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED
    CUPTI_ERROR_WSL_DEVICE=CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED
    CUPTI_ERROR_MULTIPLE_SUBSCRIBERS=CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED CUPTI_ERROR_UNKNOWN
    CUPTI_DRIVER_API=CUPTI_CB_DOMAIN_DRIVER_API CUPTI_RUNTIME_API=CUPTI_CB_DOMAIN_RUNTIME_API CUPTI_RESOURCE=CUPTI_CB_DOMAIN_RESOURCE
    CUPTI_CBID_CONTEXT_CREATED=CUPTI_CBID_RESOURCE_CONTEXT_CREATED
    CUPTI_CBID_CONTEXT_DESTROY_STARTING=CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING
    CUPTI_CBID_MODULE_LOADED=CUPTI_CBID_RESOURCE_MODULE_LOADED
    CUPTI_STALL_NAME_BYTES=CUPTI_STALL_REASON_STRING_SIZE
    CUPTI_PC_MODE_CONTINUOUS=CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS
    CUPTI_PC_MODE_SERIALIZED=CUPTI_PC_SAMPLING_COLLECTION_MODE_KERNEL_SERIALIZED
    CUPTI_CBID_NODE_CREATED=CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED
    CUPTI_CBID_NODE_CLONED=CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED CUPTI_API_ENTER
    CUPTI_API_EXIT CUPTI_FLUSH_FORCED=CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
    CUPTI_POOL_LOCAL=CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL""".split()
NUMBERS += ["CUPTI_KIND_%s=CUPTI_ACTIVITY_KIND_%s" % (k, k) for k in """MEMCPY MEMSET KERNEL DEVICE CONCURRENT_KERNEL
    OVERHEAD MEMCPY2 SYNCHRONIZATION MEMORY2 MEMORY_POOL GRAPH_TRACE""".split()]
NUMBERS += ["CUPTI_ATTR_%s=CUPTI_ACTIVITY_ATTR_%s" % (a, a) for a in
            "DEVICE_BUFFER_SIZE DEVICE_BUFFER_POOL_LIMIT ZEROED_OUT_ACTIVITY_BUFFER PER_THREAD_ACTIVITY_BUFFER".split()]
NUMBERS += ["CUPTI_PC_ATTR_%s=CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_%s" % (a, a) for a in
            "SAMPLING_PERIOD STALL_REASON SCRATCH_BUFFER_SIZE COLLECTION_MODE SAMPLING_DATA_BUFFER".split()]
NUMBERS += ["CUPTI_CBID_%s=CUPTI_DRIVER_TRACE_CBID_%s" % pair for pair in (
    ("LAUNCH_KERNEL", "cuLaunchKernel"), ("PROFILER_START", "cuProfilerStart"), ("PROFILER_STOP", "cuProfilerStop"),
    ("LAUNCH_KERNEL_PTSZ", "cuLaunchKernel_ptsz"), ("LAUNCH_COOPERATIVE", "cuLaunchCooperativeKernel"),
    ("LAUNCH_COOPERATIVE_PTSZ", "cuLaunchCooperativeKernel_ptsz"),
    ("LAUNCH_COOPERATIVE_MULTI", "cuLaunchCooperativeKernelMultiDevice"), ("GRAPH_LAUNCH", "cuGraphLaunch"),
    ("GRAPH_LAUNCH_PTSZ", "cuGraphLaunch_ptsz"), ("LAUNCH_KERNEL_EX", "cuLaunchKernelEx"),
    ("LAUNCH_KERNEL_EX_PTSZ", "cuLaunchKernelEx_ptsz"))]


INCLUDES = ["cupti_result.h", "cupti_activity.h", "cupti_callbacks.h", "cupti_driver_cbid.h", "cupti_pcsampling.h"]
OURS = ["gpu/agent/cupti/cupti_abi.h", "gpu/agent/cupti/pc_abi.h"]


def pairs(text):
    return [(p.split("=") * 2)[:2] for p in text.split()]


def run(includes, folders, expressions):
    """The values of the expressions in a program that includes these headers."""
    with tempfile.TemporaryDirectory() as work:
        for name, text in (("cuda.h", CUDA_H), ("builtin_types.h", "")):
            with open(os.path.join(work, name), "w") as f:
                f.write(text)
        lines = ["#include <stddef.h>", "#include <stdint.h>", "#include <stdio.h>"]
        lines += ["#include <%s>" % i for i in includes] + ["int main(void)", "{"]
        lines += ['\tprintf("%%lld\\n", (long long)(%s));' % e for e in expressions] + ["}"]
        with open(os.path.join(work, "p.c"), "w") as f:
            f.write("\n".join(lines))
        program = os.path.join(work, "p")
        subprocess.run(["gcc", "-w", "-o", program, program + ".c"] + ["-I" + d for d in folders + [work]], check=True)
        return [int(n) for n in subprocess.run([program], check=True, stdout=subprocess.PIPE).stdout.split()]


def records_of(folder):
    """The text of each activity record struct, by name."""
    structs = {}
    for header in ("cupti_activity.h", "cupti_activity_deprecated.h"):
        path = os.path.join(folder, header)
        text = open(path, encoding="utf-8", errors="replace").read() if os.path.exists(path) else ""
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        for body, name in re.findall(r"typedef struct[^{;]*\{(.*?)\n\} *CUpti_Activity(\w+);", text, re.S):
            structs[name] = body
    return structs


def has(body, field):
    return re.search(r"\b%s(\[\w+\])?;" % field.split(".")[-1], body) is not None


def versions_of(structs, theirs):
    """The versions of a record that the headers have and that the agent may meet."""
    for name, body in structs.items():
        version = re.fullmatch(theirs + r"(\d*)", name)
        if version and int(version.group(1) or 1) >= FIRST[theirs]:
            yield name, body


def record_size(text):
    """An array of records of PC sampling has the distance of the version's own; with the fields of a later one, none."""
    ours = "sizeof(struct cupti_pc)" if re.search(r"uint32_t correlationId;\s*\} CUpti_PCSamplingPCData;", text) else "CUPTI_PC_OLD_SIZE"
    return [("size of CUpti_PCSamplingPCData", ours, "sizeof(CUpti_PCSamplingPCData)")]


def compare(folder, structs):
    """Compares offsets and numbers; collects the fields that some version has."""
    checks, found = [], set()  # (what, ours, theirs)
    for ours, (theirs, _, fields) in RECORDS.items():
        for name, body in versions_of(structs, theirs):
            for a, b in pairs(fields):
                if has(body, b):
                    found.add((ours, a))
                    checks.append(("%s.%s" % (name, b), "offsetof(struct %s, %s)" % (ours, a),
                                   "offsetof(CUpti_Activity%s, %s)" % (name, b)))
    text = "".join(open(os.path.join(folder, h), encoding="utf-8", errors="replace").read() for h in INCLUDES)
    for ours, (theirs, fields) in STRUCTS.items():
        body = re.search(r"typedef struct[^{;]*\{((?:(?!typedef).)*?)\} *%s;" % theirs, text, re.S)
        if not body:
            continue
        checks += [(theirs + "." + b, "offsetof(%s, %s)" % (ours, a), "offsetof(%s, %s)" % (theirs, b))
                   for a, b in pairs(fields) if has(body.group(1), b) or "." in b or "union" in body.group(1)]
        if ours in WHOLE:
            checks.append(("size of " + theirs, "sizeof(%s)" % ours, WHOLE[ours]))
    numbers = [(a, b) for a, b in pairs(" ".join(NUMBERS)) if re.search(r"\b%s\b" % b, text)]
    checks += [(b, a, b) for a, b in numbers]
    found |= {("number", b) for _, b in numbers}
    checks += record_size(text)
    mine = run(OURS, ["."], [c[1] for c in checks])
    real = run(INCLUDES, [folder], [c[2] for c in checks])
    wrong = ["%s: %d here, %d there" % (c[0], m, r) for c, m, r in zip(checks, mine, real) if m != r]
    assert not wrong, "\n".join(wrong)
    return len(checks), found


def compare_sizes(folder, structs):
    """A record of the size that the agent asks for must have the field."""
    names = sorted({name for theirs in FIRST for name, _ in versions_of(structs, theirs)})
    real = dict(zip(names, run(INCLUDES, [folder], ["sizeof(CUpti_Activity%s)" % n for n in names])))
    mine = run(OURS, ["."], list(SIZES))
    for (constant, (theirs, field)), size in zip(SIZES.items(), mine):
        for name, body in versions_of(structs, theirs):
            assert real[name] < size or has(body, field), "%s: %s has no %s" % (constant, name, field)
    return len(names)


wanted = {(ours, a) for ours, (_, _, fields) in RECORDS.items() for a, _ in pairs(fields)}
wanted |= {("number", b) for _, b in pairs(" ".join(NUMBERS))}
recent = False
for path in sys.argv[1:]:
    known = records_of(path)
    nr_checks, fields_found = compare(path, known)
    wanted -= fields_found
    recent |= "Kernel9" in known
    print("%d versions of records, %d offsets and numbers: %s" % (compare_sizes(path, known), nr_checks, path))
assert not wanted or not recent, "in no version: %s" % wanted
