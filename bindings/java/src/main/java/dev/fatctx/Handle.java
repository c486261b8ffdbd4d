package dev.fatctx;

/**
 * A handle of the C interface, which is closed once: by its owner, or after the owner is unreachable.
 *
 * <p>A call enters first and leaves afterwards. A close in between takes effect when the last call has left, because
 * calls copy texts that borrow from the handle.
 */
final class Handle {
    /** Closes a handle of one kind. */
    interface Closer {
        void close(long id);
    }

    private final State state;

    Handle(String name, long id, Closer closer) {
        State made = new State(name, id, closer);
        state = made;
        Cleaner.whenUnreachable(this, made::close);
    }

    /**
     * Returns the number of the handle, which stays open until {@link #leave()}. Holds the lock of this object, so that it
     * cannot become unreachable before the state knows of the call.
     */
    synchronized long enter() {
        return state.enter();
    }

    void leave() {
        state.leave();
    }

    void close() {
        state.close();
    }

    boolean open() {
        return state.open();
    }

    private static final class State {
        private final String name;
        private final long id;
        private final Closer closer;
        private int calls;
        private boolean closed;

        State(String name, long id, Closer closer) {
            this.name = name;
            this.id = id;
            this.closer = closer;
        }

        synchronized long enter() {
            if (closed) throw FatctxException.refusal(ErrorCode.STALE_HANDLE, "the " + name + " is closed");
            ++calls;
            return id;
        }

        void leave() {
            synchronized (this) {
                if (--calls > 0 || !closed) return;
            }
            closer.close(id);
        }

        void close() {
            synchronized (this) {
                if (closed) return;
                closed = true;
                if (calls > 0) return;
            }
            closer.close(id);
        }

        synchronized boolean open() {
            return !closed;
        }
    }
}
