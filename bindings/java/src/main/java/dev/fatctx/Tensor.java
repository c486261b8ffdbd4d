package dev.fatctx;

/** A view of one tensor, with its facts. */
public final class Tensor extends View {
    private final TensorInfo info;

    Tensor(long id) {
        super(id);
        handle.enter();
        try {
            info = new TensorInfo(Native.viewTensor(id));
        } finally {
            handle.leave();
        }
    }

    public TensorInfo info() {
        return info;
    }
}
