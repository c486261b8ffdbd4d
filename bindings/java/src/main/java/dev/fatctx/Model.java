package dev.fatctx;

/** A container with the target that was chosen for a device. */
public final class Model implements AutoCloseable {
    private final Handle handle;

    Model(long id) {
        handle = new Handle("model", id, Native::closeModel);
    }

    /** Explains in several lines why these records were chosen and no others. */
    public String explain() {
        long id = handle.enter();
        try {
            return Texts.of(Native.explainModel(id));
        } finally {
            handle.leave();
        }
    }

    /** Returns the result of the choice. */
    public Selection selection() {
        long id = handle.enter();
        try {
            return new Selection(Native.selection(id));
        } finally {
            handle.leave();
        }
    }

    /** Begins a session. The second and later ones cost no reading. */
    public Session beginSession() {
        long id = handle.enter();
        try {
            return new Session(Native.beginSession(id));
        } finally {
            handle.leave();
        }
    }

    /** Closes the model. Its sessions and their views stay valid. Closing twice does nothing. */
    @Override
    public void close() {
        handle.close();
    }
}
