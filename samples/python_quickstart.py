"""Runs a packed text encoder on this machine: python_quickstart.py model.fatctx"""
import sys

import numpy as np

import fatctx

model = fatctx.open_model(sys.argv[1])  # maps the file once per process and chooses for this machine
print(model.explain())  # why this record and no other
with fatctx.iree.Runtime(model) as runtime:  # IREE uses the parameters where they are mapped
    ids = np.array([[101, 7592, 2088, 102]])  # "hello world"
    output = runtime.invoke("main_graph", ids, np.ones_like(ids), np.zeros_like(ids))
print("output", output.shape, output.dtype)
