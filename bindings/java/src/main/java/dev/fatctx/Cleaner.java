package dev.fatctx;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Runs an action when the garbage collector has found that nothing refers to an object any more.
 *
 * <p>java.lang.ref.Cleaner does the same, and came to Java with 9 and to Android with 13. This one runs on Java 8 and
 * Android 9.
 */
final class Cleaner {
    private static final ReferenceQueue<Object> UNREACHABLE = new ReferenceQueue<>();
    // A reference that is itself unreachable is never put into the queue.
    private static final Set<Entry> ENTRIES = ConcurrentHashMap.newKeySet();

    static {
        Thread thread = new Thread(Cleaner::run, "fatctx cleaner");
        thread.setDaemon(true);
        thread.setContextClassLoader(null); // the thread lives as long as the process, and an application may not
        thread.start();
    }

    private Cleaner() {}

    /** Keeps the action until the object is unreachable. The action must not refer to the object. */
    static void whenUnreachable(Object object, Runnable action) {
        ENTRIES.add(new Entry(object, action));
    }

    /** Returns the number of actions that have not run yet. */
    static int waiting() {
        return ENTRIES.size();
    }

    private static void run() {
        for (;;) {
            try {
                Entry entry = (Entry) UNREACHABLE.remove();
                ENTRIES.remove(entry);
                entry.action.run();
            } catch (Throwable ignored) {
                // One action that fails must not keep the others from running.
            }
        }
    }

    private static final class Entry extends PhantomReference<Object> {
        final Runnable action;

        Entry(Object object, Runnable action) {
            super(object, UNREACHABLE);
            this.action = action;
        }
    }
}
