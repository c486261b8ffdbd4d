package dev.fatctx;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.FileInputStream;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Closing: twice, too early, never, and from many threads. */
class LifetimeTest {
    @TempDir Path folder;

    @Test
    void callsOnWhatIsClosed() {
        Container container = Container.open(Samples.GOLDEN.resolve("plain.fatctx"));
        Model model = container.select(new SelectOptions().record("binary").force(true));
        Session session = model.beginSession();
        assertTrue(container.isOpen());
        for (int twice = 0; twice < 2; ++twice) {
            container.close();
            model.close();
            session.close();
        }
        assertFalse(container.isOpen());
        List<Runnable> calls = List.of(container::records, container::report, container::check, container::reopen,
                container::explain, container::select, () -> container.record(1), () -> container.find("x"),
                () -> container.acquire(1), () -> container.acquire("x"), () -> container.tensors(1),
                () -> container.tensor(1, "x"), model::explain, model::selection, model::beginSession, session::binary,
                session::weights, () -> session.tensor("x"), session::end);
        for (Runnable call : calls) {
            StaleHandleException stale = assertThrows(StaleHandleException.class, call::run);
            assertTrue(stale.getMessage().endsWith("is closed (stale_handle)"), stale.getMessage());
        }
    }

    @Test
    void tenThousandOpensLeakNothing() throws Exception {
        Path file = Samples.pack(folder);
        Runnable round = () -> {
            try (Container container = Container.open(file);
                    Device device = Device.parse("v75");
                    Model model = container.select(new SelectOptions().device(device));
                    Session session = model.beginSession();
                    View binary = session.binary()) {
                assertEquals(100_001, binary.size());
            }
        };
        round.run();
        int before = Samples.settledDescriptors();
        for (int i = 0; i < 10_000; ++i) round.run();
        assertTrue(Samples.descriptors() <= before);
        assertEquals(0, Samples.mappings(file)); // at once, without the garbage collector
    }

    @Test
    void errorsLeakNothing() throws Exception {
        Path file = Samples.pack(folder);
        Path none = folder.resolve("nobody");
        ByteBuffer noise = ByteBuffer.allocateDirect(8192);
        int before = Samples.settledDescriptors();
        for (int i = 0; i < 10_000; ++i) {
            assertThrows(NotFoundException.class, () -> Container.open(none));
            assertThrows(DamagedException.class, () -> Container.open(noise));
        }
        try (FileInputStream stream = new FileInputStream(file.toFile())) {
            for (int i = 0; i < 1000; ++i) {
                assertThrows(DamagedException.class, () -> Container.open(stream.getFD(), 4096, 4096));
            }
        }
        assertTrue(Samples.descriptors() <= before);
        assertEquals(0, Samples.mappings(file));
    }

    @Test
    void buffersAreGivenBackByTheGarbageCollector() throws Exception {
        Path file = Samples.pack(folder);
        int before = Samples.settledDescriptors();
        for (int i = 0; i < 10_000; ++i) {
            try (Container container = Container.open(file);
                    View view = container.acquire(1)) {
                assertEquals(view.size(), view.bytes().slice().remaining());
            }
        }
        Samples.collectUntil(() -> Samples.mappings(file) == 0);
        assertTrue(Samples.descriptors() <= before);
    }

    @Test
    void whatIsForgottenIsClosed() throws Exception {
        Path file = Samples.pack(folder);
        int before = Samples.settledDescriptors();
        for (int i = 0; i < 100; ++i) {
            Container container = Container.open(file);
            Device device = Device.parse("v75");
            container.select(new SelectOptions().device(device)).beginSession().binary();
        }
        Samples.collectUntil(() -> Samples.mappings(file) == 0 && Samples.descriptors() <= before);
    }

    @Test
    void memoryIsGivenBack() throws Exception {
        byte[] whole = Files.readAllBytes(Samples.GOLDEN.resolve("plain.fatctx"));
        byte[] expected = Samples.extract(Samples.GOLDEN.resolve("plain.fatctx"), "weights", folder);
        ByteBuffer memory = ByteBuffer.allocateDirect(whole.length);
        memory.put(whole).flip();
        WeakReference<ByteBuffer> watched = new WeakReference<>(memory);
        ByteBuffer shown;
        try (Container container = Container.open(memory);
                View view = container.acquire("weights")) {
            shown = view.bytes();
        }
        memory = null;
        for (int i = 0; i < 50; ++i) System.gc();
        Thread.sleep(100);
        assertArrayEquals(expected, Samples.bytesOf(shown)); // the library keeps the buffer for it
        shown = null;
        Samples.collectUntil(() -> watched.get() == null);
    }

    @Test
    void manyThreadsWithOneContainer() throws Exception {
        Path file = Samples.pack(folder);
        try (Container container = Container.open(file)) {
            byte[][] expected = new byte[4][];
            for (int i = 0; i < expected.length; ++i) expected[i] = Samples.packedFrom(container.record(i + 1));
            inThreads(8, () -> {
                for (int i = 0; i < 200; ++i) {
                    int record = i % 4;
                    try (View view = container.acquire(record + 1)) {
                        assertArrayEquals(expected[record], Samples.bytesOf(view.bytes()));
                    }
                    assertEquals(5, container.records().size());
                    assertTrue(container.explain().startsWith("device: "));
                }
                return null;
            });
        }
        Samples.collectUntil(() -> Samples.mappings(file) == 0);
    }

    /** One thread closes and opens, the others call: each call succeeds or says that the container is closed. */
    @Test
    void closingMeanwhile() throws Exception {
        Path file = Samples.pack(folder);
        AtomicReference<Container> shared = new AtomicReference<>(Container.open(file));
        byte[] expected = Samples.packedFrom(shared.get().record(1));
        int[] stale = new int[1];
        inThreads(6, () -> {
            for (int i = 0; i < 500; ++i) {
                Container container = shared.get();
                try {
                    if (i % 5 == 0) {
                        shared.set(Container.open(file));
                        container.close();
                        continue;
                    }
                    assertEquals("net", container.record(1).group());
                    ByteBuffer bytes;
                    try (View view = container.acquire(1)) {
                        bytes = view.bytes();
                    }
                    assertEquals(expected[i], bytes.get(i));
                    container.report().path().hashCode();
                } catch (StaleHandleException closed) {
                    synchronized (stale) {
                        ++stale[0];
                    }
                }
            }
            return null;
        });
        assertTrue(stale[0] < 6 * 500);
        shared.get().close();
        Samples.collectUntil(() -> Samples.mappings(file) == 0);
    }

    private static void inThreads(int count, Callable<Void> work) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(count);
        try {
            List<Future<Void>> results = new ArrayList<>();
            for (int i = 0; i < count; ++i) results.add(threads.submit(work));
            for (Future<Void> result : results) result.get();
        } finally {
            threads.shutdownNow();
        }
    }

    @Test
    void anActionThatFailsDoesNotStopTheOthers() throws Exception {
        boolean[] ran = new boolean[1];
        Cleaner.whenUnreachable(new Object(), () -> {
            throw new IllegalStateException("on purpose");
        });
        Cleaner.whenUnreachable(new Object(), () -> ran[0] = true);
        Samples.collectUntil(() -> ran[0]);
    }

    @Test
    void theLibraryExportsOneFunction() throws IOException {
        Path library = Path.of(System.getProperty("fatctx.library"));
        String symbols = Samples.run(0, List.of("nm", "-D", "--defined-only", library.toString()));
        assertEquals("JNI_OnLoad", symbols.trim().replaceAll("^.* ", ""), symbols);
        String segments = Samples.run(0, List.of("readelf", "-lW", library.toString()));
        long loads = segments.lines().filter(line -> line.trim().startsWith("LOAD")).count();
        assertTrue(loads >= 2, segments);
        assertEquals(loads, segments.lines().filter(line -> line.matches("\\s*LOAD.* 0x4000")).count(), segments);
    }
}
