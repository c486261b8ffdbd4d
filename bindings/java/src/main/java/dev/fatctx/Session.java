package dev.fatctx;

import java.util.ArrayList;
import java.util.List;

/** Views of the chosen binaries, and of the weights that they share. */
public final class Session implements AutoCloseable {
    private final Handle handle;

    Session(long id) {
        handle = new Handle("session", id, Native::closeSession);
    }

    /** Returns the context binary of the only unit. */
    public View binary() {
        return binary(null);
    }

    /** Returns the context binary of a unit; null is the only one. The error lists the units. */
    public View binary(String unit) {
        byte[] name = Texts.utf8(unit);
        long id = handle.enter();
        try {
            return new View(Native.binary(id, name));
        } finally {
            handle.leave();
        }
    }

    /** Returns the weight blobs that the binaries refer to. The caller closes each. */
    public List<View> weights() {
        long id = handle.enter();
        List<View> views = new ArrayList<>();
        try {
            long count = Native.weightsCount(id);
            for (long i = 0; i < count; ++i) views.add(new View(Native.weights(id, i)));
            return views;
        } catch (Throwable failed) {
            for (View view : views) view.close();
            throw failed;
        } finally {
            handle.leave();
        }
    }

    /** Returns a tensor of any of these blobs. The error names the nearest name. */
    public Tensor tensor(String name) {
        byte[] text = Texts.required(name, "name");
        long id = handle.enter();
        try {
            return new Tensor(Native.sessionTensor(id, text));
        } finally {
            handle.leave();
        }
    }

    /**
     * Closes the session, and says whether results that were computed from its views can be trusted: throws if the file was
     * damaged or changed meanwhile.
     */
    public void end() {
        long id = handle.enter();
        try {
            Native.endSession(id);
        } finally {
            handle.leave();
            handle.close();
        }
    }

    /** Closes the session. Its views stay valid. Closing twice does nothing. */
    @Override
    public void close() {
        handle.close();
    }
}
