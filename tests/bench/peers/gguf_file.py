"""gguf_file.py - GGUF files with their weights in another type."""


def write_as(path, to, kind):
    """Matrices in this type (F32, F16, BF16, Q8_0, Q4_0, Q4_1), vectors in F32, metadata as it is."""
    import gguf
    import numpy

    reader = gguf.GGUFReader(path)
    writer = gguf.GGUFWriter(to, reader.fields["general.architecture"].contents())
    for name, field in reader.fields.items():
        if name.startswith("GGUF.") or name in ("general.architecture", "general.file_type"):
            continue
        part = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(name, field.contents(), field.types[0], part)
    for tensor in reader.tensors:
        shape = [int(size) for size in reversed(tensor.shape)]
        data = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(numpy.float32).reshape(shape)
        wanted = gguf.GGMLQuantizationType[kind if len(shape) > 1 else "F32"]
        writer.add_tensor(tensor.name, gguf.quants.quantize(data, wanted), raw_dtype=wanted)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
