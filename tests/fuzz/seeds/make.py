# seeds: writes the tiny files that the gguf and safetensors fuzzers start from.
import os, struct
here = os.path.dirname(os.path.abspath(__file__))
def write(kind, name, data):
    os.makedirs(f"{here}/{kind}", exist_ok=True)
    open(f"{here}/{kind}/{name}", "wb").write(data)
def s(t): return struct.pack("<Q", len(t)) + t.encode()
def gguf(pairs, tensors, data, version=3):
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs)) + b"".join(pairs) + b"".join(tensors)
    return head + b"\0" * (-len(head) % 32) + data
kinds = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<B", 10: "<Q", 11: "<q", 12: "<d"}
pairs = [s(f"k{k}") + struct.pack("<I", k) + struct.pack(f, 1) for k, f in kinds.items()]
arrays = [s(f"a{k}") + struct.pack("<IIQ", 9, k, 2) + struct.pack(f, 1) * 2 for k, f in kinds.items()]
text = [s("general.architecture") + struct.pack("<I", 8) + s("llama"), s("tokens") + struct.pack("<IIQ", 9, 8, 2) + s("a") + s("b")]
align = [s("general.alignment") + struct.pack("<II", 4, 32)]
def tensor(name, dims, kind, offset): return s(name) + struct.pack("<I", len(dims)) + b"".join(struct.pack("<Q", d) for d in dims) + struct.pack("<IQ", kind, offset)
write("gguf", "empty", gguf([], [], b""))
write("gguf", "values", gguf(pairs + arrays + text, [], b"", 2))
write("gguf", "tensors", gguf(align, [tensor("a", [32, 2], 8, 0), tensor("b", [4], 0, 96)], bytes(112)))
write("gguf", "split", gguf([s("split.no") + struct.pack("<IH", 2, 0), s("split.count") + struct.pack("<IH", 2, 2)], [], b""))
def st(header, data): return struct.pack("<Q", len(header)) + header.encode() + data
write("safetensors", "empty", st("{}", b""))
write("safetensors", "one", st('{"__metadata__":null,"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]}}', bytes(8)))
write("safetensors", "more", st('{"__metadata__":{"format":"mlx"},"b":{"dtype":"U8","shape":[3],"data_offsets":[4,7]},"a":{"dtype":"BF16","shape":[1,1,1,1,2],"data_offsets":[0,4]},"s":{"dtype":"I64","shape":[],"data_offsets":[7,15]},"z":{"dtype":"F8_E4M3","shape":[0],"data_offsets":[15,15]}}', bytes(15)))
def packed(entries, start, version=1):
    end = (2 << 20) + 4096 + 32 * len(entries)
    return b"calla pk" + struct.pack("<II", version, len(entries)) + b"k" * 64 + struct.pack("<QQQ", start, end, 0) + b"".join(struct.pack("<QQQQ", 1, *e, 0) for e in entries)
write("packed", "empty", packed([], (2 << 20) + 4096))
write("packed", "one", packed([((2 << 20), 100)], (2 << 20) + 4096))
write("packed", "outside", packed([((2 << 20), 5000)], (2 << 20) + 4096))
