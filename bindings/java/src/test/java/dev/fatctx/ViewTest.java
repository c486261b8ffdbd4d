package dev.fatctx;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.ReadOnlyBufferException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Bytes of records and tensors: which they are, and how long they live. */
class ViewTest {
    private static final Path PLAIN = Samples.GOLDEN.resolve("plain.fatctx");
    @TempDir Path folder;

    @Test
    void bytesAreThoseOfTheCommand() throws IOException {
        for (String name : new String[] {"plain", "sealed", "shared", "appended"}) {
            Path file = Samples.GOLDEN.resolve(name + ".fatctx");
            try (Container container = Container.open(file, new OpenOptions().maxCopiedBytes(1 << 20))) {
                for (RecordInfo record : container.records()) {
                    if (record.type() == RecordType.DESCRIPTION) continue;
                    byte[] expected = Samples.extract(file, record.name(), folder);
                    try (View view = container.acquire(record.name())) {
                        assertEquals(record.id(), view.recordId());
                        assertEquals(expected.length, view.size());
                        assertArrayEquals(expected, Samples.bytesOf(view.bytes()), name + " " + record);
                    }
                }
            }
        }
    }

    @Test
    void tensors() throws IOException {
        try (Container container = Container.open(PLAIN)) {
            RecordInfo weights = container.find("weights");
            byte[] blob = Samples.extract(PLAIN, "weights", folder);
            List<TensorInfo> tensors = container.tensors(weights.id());
            assertTrue(tensors.size() >= 2, tensors.toString());
            for (TensorInfo info : tensors) {
                int from = (int) info.offsetInBlob();
                byte[] expected = Arrays.copyOfRange(blob, from, from + (int) info.size());
                try (Tensor tensor = container.tensor(weights.id(), info.name())) {
                    assertArrayEquals(expected, Samples.bytesOf(tensor.bytes()), info.toString());
                    assertEquals(info.name(), tensor.info().name());
                    assertSame(info.dtype(), tensor.info().dtype());
                    assertArrayEquals(info.shape(), tensor.info().shape());
                    long elements = Arrays.stream(info.shape()).reduce(1, (a, b) -> a * b);
                    assertEquals((elements * info.dtype().bits() + 7) / 8, info.size());
                    assertEquals(0, info.strides().length);
                    boolean strided = info.dtype().bits() >= 8 && info.shape().length > 0;
                    assertEquals(strided ? info.shape().length : 0, tensor.info().strides().length);
                }
            }
            NotFoundException absent = assertThrows(
                    NotFoundException.class, () -> container.tensor(weights.id(), tensors.get(0).name() + "x"));
            assertTrue(absent.getMessage().contains(tensors.get(0).name()), absent.getMessage());
        }
    }

    @Test
    void buffersAreReadOnlyAndLittleEndian() {
        try (Container container = Container.open(PLAIN);
                View view = container.acquire("weights")) {
            ByteBuffer bytes = view.bytes();
            assertTrue(bytes.isDirect());
            assertTrue(bytes.isReadOnly());
            assertEquals(ByteOrder.LITTLE_ENDIAN, bytes.order());
            assertThrows(ReadOnlyBufferException.class, () -> bytes.put(0, (byte) 1));
            assertThrows(ReadOnlyBufferException.class, () -> bytes.duplicate().put((byte) 1));
            assertThrows(ReadOnlyBufferException.class, () -> bytes.slice().asIntBuffer().put(1));
            assertThrows(UnsupportedOperationException.class, bytes::array);
        }
    }

    @ParameterizedTest
    @CsvSource({"0, 0", "0, 1", "1, 10", "-1, 1", "1, -1", "9223372036854775807, 1", "-9223372036854775808, 2147483647"})
    void parts(long offset, int size) {
        try (Container container = Container.open(PLAIN);
                View view = container.acquire("weights")) {
            for (long start : new long[] {offset, view.size() + offset, view.size() - size + 1}) {
                boolean inside = start >= 0 && size >= 0 && start <= view.size() && size <= view.size() - start;
                if (inside) {
                    byte[] all = Samples.bytesOf(view.bytes());
                    assertArrayEquals(Arrays.copyOfRange(all, (int) start, (int) start + size),
                            Samples.bytesOf(view.bytes(start, size)));
                } else {
                    assertThrows(InvalidArgumentException.class, () -> view.bytes(start, size));
                }
            }
        }
    }

    @Test
    void aBufferOutlivesEverything() throws Exception {
        Path file = Files.copy(PLAIN, folder.resolve("outlived.fatctx"));
        byte[] expected = Samples.extract(file, "weights", folder);
        List<ByteBuffer> kept = new ArrayList<>();
        Container container = Container.open(file);
        View view = container.acquire("weights");
        ByteBuffer whole = view.bytes();
        // Only things that were made of the buffer are kept, not the buffer itself.
        kept.add(whole.duplicate());
        kept.add(whole.slice());
        kept.add(whole.asReadOnlyBuffer().slice());
        java.nio.IntBuffer words = view.bytes().asIntBuffer();
        int first = words.get(0);
        view.close();
        container.close();
        whole = null;
        view = null;
        container = null;
        Files.delete(file); // the file is held by the mapping alone
        for (int i = 0; i < 200; ++i) {
            System.gc();
            if (i % 10 == 0) Thread.sleep(5); // the cleaner may run
            for (ByteBuffer buffer : kept) assertArrayEquals(expected, Samples.bytesOf(buffer));
            assertEquals(first, words.get(0));
        }
        String deleted = folder.toRealPath().resolve("outlived.fatctx").toString();
        assertTrue(isMapped(deleted));
        kept.clear();
        words = null;
        Samples.collectUntil(() -> !isMapped(deleted));
    }

    private static boolean isMapped(String name) throws IOException {
        return Files.readString(Path.of("/proc/self/maps"), java.nio.charset.StandardCharsets.ISO_8859_1).contains(name);
    }

    @Test
    void aBufferOfAClosedView() {
        Container container = Container.open(PLAIN);
        View view = container.acquire("weights");
        view.close();
        view.close();
        StaleHandleException stale = assertThrows(StaleHandleException.class, view::bytes);
        assertEquals("the view is closed (stale_handle)", stale.getMessage());
        assertTrue(view.size() > 0); // facts stay
        container.close();
    }

    @Test
    void anEmptyRecord() throws IOException {
        Path empty = Files.write(folder.resolve("empty.bin"), new byte[0]);
        Path file = folder.resolve("empty.fatctx");
        String manifest = "{\"schema\": \"fatctx.manifest/1\", \"name\": \"empty\", \"records\": [{\"name\": \"nothing\", \"type\": \"opaque\", \"file\": \"empty.bin\"}]}";
        Files.write(folder.resolve("m.json"), manifest.getBytes(java.nio.charset.StandardCharsets.UTF_8));
        Samples.command(0, "pack", folder.resolve("m.json"), "-o", file);
        assertEquals(0, Files.size(empty));
        try (Container container = Container.open(file);
                View view = container.acquire("nothing")) {
            ByteBuffer bytes = view.bytes();
            assertEquals(0, bytes.remaining());
            assertTrue(bytes.isReadOnly());
            assertThrows(ReadOnlyBufferException.class, () -> bytes.put((byte) 1));
            assertThrows(InvalidArgumentException.class, () -> view.bytes(0, 1));
        }
    }

    @Test
    void aCompressedRecordHasNoView() {
        try (Container container = Container.open(Samples.GOLDEN.resolve("compressed.fatctx"))) {
            RecordInfo compressed = container.records().stream().filter(RecordInfo::compressed).findFirst().get();
            UnsupportedException refused =
                    assertThrows(UnsupportedException.class, () -> container.acquire(compressed.id()));
            assertEquals(compressed.id(), refused.recordId());
        }
    }

    @Test
    void aRecordThatDoesNotExist() {
        try (Container container = Container.open(PLAIN)) {
            for (int id : new int[] {0, -1, 99, Integer.MIN_VALUE, Integer.MAX_VALUE}) {
                assertThrows(NotFoundException.class, () -> container.acquire(id));
                assertThrows(NotFoundException.class, () -> container.record(id));
                assertThrows(NotFoundException.class, () -> container.tensors(id));
            }
            assertThrows(NotFoundException.class, () -> container.find("nobody"));
            assertThrows(NotFoundException.class, () -> container.acquire(""));
            assertThrows(InvalidArgumentException.class, () -> container.find("weights\0"));
            assertThrows(InvalidArgumentException.class, () -> container.find("weights\ud800"));
            assertThrows(NullPointerException.class, () -> container.find(null));
        }
    }
}
