package dev.fatctx;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that are damaged, hostile, unsigned or absent. */
class DamageTest {
    @TempDir Path folder;

    @Test
    void damagedPayloadNamesTheRecord() throws IOException {
        Path file = Samples.pack(folder);
        byte[] payload = Samples.random(1, 100_001); // of the record for v75
        byte[] whole = Files.readAllBytes(file);
        int at = indexOf(whole, Arrays.copyOf(payload, 64));
        whole[at + 70_000] ^= 1;
        Files.write(file, whole);
        try (Container container = Container.open(file)) {
            RecordInfo damaged = container.records().stream().filter(r -> r.arch().equals("v75")).findFirst().get();
            ChecksumException refused = assertThrows(ChecksumException.class, () -> container.acquire(damaged.id()));
            assertSame(ErrorCode.CHECKSUM_MISMATCH, refused.code());
            assertEquals(damaged.id(), refused.recordId());
            assertTrue(refused.getMessage().startsWith(file.toString()), refused.getMessage());
            assertTrue(refused.getMessage().contains("record " + damaged.id()), refused.getMessage());
            assertTrue(refused.fileOffset() >= at && refused.fileOffset() <= at + 70_000, refused.getMessage());
            assertTrue(refused instanceof DamagedException);
            for (RecordInfo other : container.records()) { // damage of one record does not touch the others
                if (other.id() != damaged.id()) container.acquire(other.id()).close();
            }
            try (Device device = Device.parse("SM8650")) {
                SelectOptions options = new SelectOptions().device(device);
                try (Model model = container.select(options)) {
                    assertThrows(ChecksumException.class, model::beginSession);
                }
                assertThrows(ChecksumException.class, () -> container.select(options.skipDamaged(true)));
                options.allowLowerArch(true);
                try (Model model = container.select(options)) {
                    assertEquals("v73", container.record(model.selection().chosen()[0]).arch());
                }
            }
        }
        try (Container unchecked = Container.open(file, new OpenOptions().verify(Verify.NONE));
                View view = unchecked.acquire(Samples.idOf(unchecked, "v75"))) {
            assertEquals(100_001, view.size());
        }
    }

    private static int indexOf(byte[] whole, byte[] part) {
        for (int i = 0; i + part.length <= whole.length; ++i) {
            if (Arrays.equals(Arrays.copyOfRange(whole, i, i + part.length), part)) return i;
        }
        throw new AssertionError("the payload is not in the file");
    }

    @Test
    void signatures() throws IOException {
        Path signed = Samples.GOLDEN.resolve("signed.fatctx");
        String line = new String(Files.readAllBytes(Samples.GOLDEN.resolve("signed.pub")), StandardCharsets.UTF_8);
        PublicKey key = PublicKey.parse(line);
        byte[] other = key.bytes();
        other[5] ^= 1;
        PublicKey wrong = PublicKey.of(other);
        assertNotEquals(key, wrong);
        assertEquals(key, PublicKey.of(key.bytes()));

        try (Container container = Container.open(signed, new OpenOptions().trustedKeys(wrong, key))) {
            assertTrue(container.report().signed());
            assertTrue(container.report().signatureVerified());
            container.acquire("weights").close();
        }
        SignatureException bad = assertThrows(
                SignatureException.class, () -> Container.open(signed, new OpenOptions().trustedKeys(wrong)));
        assertSame(ErrorCode.SIGNATURE_BAD, bad.code());
        assertTrue(bad.getMessage().startsWith(signed.toString()), bad.getMessage());
        SignatureException missing = assertThrows(SignatureException.class,
                () -> Container.open(Samples.GOLDEN.resolve("plain.fatctx"), new OpenOptions().trustedKeys(key)));
        assertSame(ErrorCode.SIGNATURE_MISSING, missing.code());
        SignatureException old = assertThrows(
                SignatureException.class, () -> Container.open(signed, new OpenOptions().minimumGeneration(99)));
        assertSame(ErrorCode.ROLLBACK, old.code());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "fatctx-public-key-v1 12", "fatctx-secret-key-v1 00", "fatctx-public-key-v1 \u0661"})
    void linesThatAreNoKey(String line) {
        assertThrows(InvalidArgumentException.class, () -> PublicKey.parse(line));
        assertThrows(InvalidArgumentException.class, () -> PublicKey.of(line.getBytes(StandardCharsets.UTF_8)));
    }

    @Test
    void filesThatAreNone() throws IOException {
        assertThrows(NotFoundException.class, () -> Container.open(folder.resolve("nobody")));
        assertThrows(FileAccessException.class, () -> Container.open(folder));
        Path file = Files.write(folder.resolve("file"), new byte[0]);
        assertSame(ErrorCode.TRUNCATED, assertThrows(DamagedException.class, () -> Container.open(file)).code());
        Files.write(file, new byte[100_000]);
        assertSame(ErrorCode.BAD_MAGIC, assertThrows(DamagedException.class, () -> Container.open(file)).code());
        Path link = Files.createSymbolicLink(folder.resolve("link"), Samples.GOLDEN.resolve("plain.fatctx").toAbsolutePath());
        Container.open(link).close();
        assertThrows(FatctxException.class, () -> Container.open(link, new OpenOptions().refuseSymlinks(true)));
    }

    /** Opens files with random damage, in memory and from the disk, and calls everything. */
    @ParameterizedTest
    @ValueSource(strings = {"plain", "shared", "signed", "compressed", "appended", "sealed"})
    void hostileFiles(String name) throws IOException {
        byte[] good = Files.readAllBytes(Samples.GOLDEN.resolve(name + ".fatctx"));
        Random random = new Random(name.hashCode());
        int refused = 0;
        for (int round = 0; round < 300; ++round) {
            byte[] bad = random.nextInt(4) == 0 ? Arrays.copyOf(good, random.nextInt(good.length)) : good.clone();
            for (int i = random.nextInt(8); i >= 0 && bad.length > 0; --i) {
                int at = random.nextBoolean() ? random.nextInt(bad.length) : random.nextInt(Math.min(bad.length, 20_000));
                bad[at] = (byte) random.nextInt();
            }
            try {
                ByteBuffer memory = ByteBuffer.allocateDirect(bad.length);
                memory.put(bad).flip();
                Path file = Files.write(folder.resolve("hostile" + round), bad);
                try (Container container = round % 2 == 0 ? Container.open(memory) : Container.open(file)) {
                    walk(container);
                } finally {
                    Files.delete(file);
                }
            } catch (FatctxException expected) {
                ++refused;
                assertTrue(expected.getMessage().length() > 10, expected.getMessage());
                assertNotEquals(ErrorCode.INTERNAL, expected.code(), expected.getMessage());
                assertNotEquals(ErrorCode.UNKNOWN, expected.code(), expected.getMessage());
            }
        }
        assertTrue(refused > 50, "only " + refused + " of 300 were refused");
    }

    private static void walk(Container container) {
        container.report();
        container.explain();
        long sum = 0;
        for (RecordInfo record : container.records()) {
            record.toString();
            if (record.compressed() || record.type() == RecordType.DESCRIPTION) continue;
            try (View view = container.acquire(record.id())) {
                ByteBuffer bytes = view.bytes();
                while (bytes.hasRemaining()) sum += bytes.get();
            }
            if (record.type() == RecordType.WEIGHT_BLOB) {
                for (TensorInfo info : container.tensors(record.id())) container.tensor(record.id(), info.name()).close();
            }
        }
        assertNotEquals(Long.MIN_VALUE, sum);
    }

    @ParameterizedTest
    @EnumSource(ErrorCode.class)
    void everyCodeHasAnException(ErrorCode code) {
        FatctxException made = FatctxException.refusal(code, "m.fatctx: a reason");
        assertSame(code, made.code());
        assertEquals("m.fatctx: a reason (" + code.word() + ")", made.getMessage());
        assertEquals("m.fatctx: a reason", made.reason());
        assertEquals(-1, made.fileOffset());
    }

    @Test
    void aCodeOfANewerLibrary() {
        byte[] text = "new".getBytes(StandardCharsets.UTF_8);
        FatctxException made = FatctxException.of(4711, text, text, new byte[0], 12, 3, 5);
        assertSame(ErrorCode.UNKNOWN, made.code());
        assertEquals(4711, made.number());
        assertEquals(12, made.fileOffset());
        assertEquals(3, made.recordId());
        assertEquals(5, made.systemError());
    }

    @Test
    void optionsThatAreNone() {
        OpenOptions options = new OpenOptions();
        assertThrows(InvalidArgumentException.class, () -> options.maxCopiedBytes(-1));
        assertThrows(InvalidArgumentException.class, () -> options.generation(Long.MIN_VALUE));
        assertThrows(NullPointerException.class, () -> options.trustedKeys((PublicKey) null));
        assertThrows(NullPointerException.class, () -> options.verify(null));
        NotFoundException absent = assertThrows(NotFoundException.class,
                () -> Container.open(Samples.GOLDEN.resolve("plain.fatctx"), new OpenOptions().generation(99)));
        assertTrue(absent.getMessage().contains("99"), absent.getMessage());
    }
}
