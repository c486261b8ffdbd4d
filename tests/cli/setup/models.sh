# shellcheck shell=sh
# Two models that differ in scale, padding and an operator, a container with the second, and what a converter lists.
base64 -d > a.onnx <<'MODEL'
CAkSADqXAgojCgF4CgFzCgF6EgFxGgVxdWFudCIOUXVhbnRpemVMaW5lYXIKJwoBcQoBcwoBehIBZBoHZGVxdWFudCIQRGVxdWFu
dGl6ZUxpbmVhcgooCgFkCgF3EgFjGgRjb252IgRDb252KhEKBHBhZHNAAUABQAFAAaABBwoSCgFjEgF5GgRyZWx1IgRSZWx1EgNu
ZXQqCxABQgFzSgQAAAA/KggQAkIBekoBgCozCAEIAQgDCAMQAUIBd0okAACAPwAAgD8AAIA/AACAPwAAgD8AAIA/AACAPwAAgD8A
AIA/WhsKAXgSFgoUCAESEAoCCAEKAggBCgIICAoCCAhiGwoBeRIWChQIARIQCgIIAQoCCAEKAggICgIICEIECgAQEQ==
MODEL
base64 -d > b.onnx <<'MODEL'
CAkSADqrAgojCgF4CgFzCgF6EgFxGgVxdWFudCIOUXVhbnRpemVMaW5lYXIKJwoBcQoBcwoBehIBZBoHZGVxdWFudCIQRGVxdWFu
dGl6ZUxpbmVhcgooCgFkCgF3EgFjGgRjb252IgRDb252KhEKBHBhZHNAAEAAQAJAAqABBwoSCgFjEgFrGgRjbGlwIgRDbGlwChIK
AWsSAXkaBHJlbHUiBFJlbHUSA25ldCoLEAFCAXNKBAAAgD4qCBACQgF6SgGAKjMIAQgBCAMIAxABQgF3SiQAAIA/AACAPwAAgD8A
AIA/AACAPwAAgD8AAIA/AACAPwAAgD9aGwoBeBIWChQIARIQCgIIAQoCCAEKAggICgIICGIbCgF5EhYKFAgBEhAKAggBCgIIAQoC
CAgKAggIQgQKABAR
MODEL
printf '{"schema": "fatctx.manifest/1", "name": "m", "records": [{"type": "source_model", "name": "net", "file": "b.onnx", "format": "onnx"}]}' > m.json
fatctx pack m.json -o m.fatctx > said
cat > m_net.json <<'JSON'
{
 "converter_command": "qnn-onnx-converter; input_network=net.onnx",
 "copyright_str": "(c) Somebody",
 "op_types": [
  "Conv2d"
 ],
 "graph": {
  "tensors": {
   "x": {
    "id": 1,
    "type": 0,
    "data_type": 1032,
    "dims": [
     1,
     8,
     8,
     3
    ],
    "quant_params": {
     "definition": 1,
     "encoding": 0,
     "scale_offset": {
      "scale": 0.25,
      "offset": -7
     }
    }
   },
   "w": {
    "id": 2,
    "type": 4,
    "data_type": 776,
    "dims": [
     3,
     3,
     3,
     4
    ]
   },
   "y": {
    "id": 3,
    "type": 1,
    "data_type": 562,
    "dims": [
     1,
     8,
     8,
     4
    ]
   }
  },
  "nodes": {
   "conv": {
    "package": "qti.aisw",
    "type": "Conv2d",
    "tensor_params": {},
    "scalar_params": {
     "group": {
      "306": 1
     }
    },
    "input_names": [
     "x",
     "w"
    ],
    "output_names": [
     "y"
    ],
    "macs_per_inference": "6912"
   }
  }
 }
}
JSON
