package dev.fatctx;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/** Containers that the command makes, and facts that it prints about them. */
final class Samples {
    static final Path GOLDEN = Paths.get(System.getProperty("fatctx.golden"));
    private static final String COMMAND = System.getProperty("fatctx.command");

    private Samples() {}

    /** Runs the command; its exit code must be the expected one. */
    static String command(int exitCode, Object... arguments) {
        List<String> words = new ArrayList<>();
        words.add(COMMAND);
        for (Object argument : arguments) words.add(argument.toString());
        return run(exitCode, words);
    }

    static String run(int exitCode, List<String> words) {
        try {
            Process process = new ProcessBuilder(words).redirectErrorStream(true).start();
            String text = new String(readAll(process.getInputStream()), StandardCharsets.UTF_8);
            if (!process.waitFor(120, TimeUnit.SECONDS) || process.exitValue() != exitCode) {
                throw new AssertionError(words + " ended with " + process.exitValue() + ":\n" + text);
            }
            return text;
        } catch (IOException | InterruptedException failed) {
            throw new AssertionError(failed);
        }
    }

    private static byte[] readAll(InputStream stream) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        byte[] piece = new byte[65536];
        for (int size; (size = stream.read(piece)) >= 0; ) all.write(piece, 0, size);
        return all.toByteArray();
    }

    static byte[] random(int seed, int size) {
        byte[] bytes = new byte[size];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    /** Packs two Snapdragon binaries and two for processors, with larger bytes than a page. */
    static Path pack(Path folder) throws IOException {
        Path file = folder.resolve("net.fatctx");
        List<Object> words = new ArrayList<>(Arrays.asList("pack", "--name", "net"));
        String[] targets = {"htp:v73", "htp:v75", "cpu:x86-64-v1", "cpu:aarch64"};
        for (int i = 0; i < targets.length; ++i) {
            Path binary = Files.write(folder.resolve("code" + i + ".bin"), random(i, 100_000 + i));
            words.add("--binary");
            words.add(binary + "@" + targets[i]);
        }
        words.add("-o");
        words.add(file);
        command(0, words.toArray());
        return file;
    }

    /** Returns the bytes that the record was packed from. */
    static byte[] packedFrom(RecordInfo record) {
        return random((int) record.size() - 100_000, (int) record.size());
    }

    /** Returns the id of the record of {@link #pack} for an arch. */
    static int idOf(Container container, String arch) {
        return container.records().stream().filter(record -> record.arch().equals(arch)).findFirst().get().id();
    }

    static byte[] extract(Path file, String record, Path folder) throws IOException {
        Path target = folder.resolve("extracted");
        command(0, "extract", file, record, "-o", target, "--force");
        return Files.readAllBytes(target);
    }

    static byte[] bytesOf(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }

    /** Counts the open descriptors of this process. */
    static int descriptors() {
        String[] names = Paths.get("/proc/self/fd").toFile().list();
        return names.length;
    }

    /** Counts the open descriptors when what earlier tests have forgotten is closed. */
    static int settledDescriptors() throws InterruptedException {
        for (int i = 0; i < 5; ++i) {
            System.gc();
            Thread.sleep(20);
        }
        return descriptors();
    }

    /** Counts the mappings of this process that show a file. */
    static long mappings(Path file) throws IOException {
        String name = file.toRealPath().toString();
        return Files.readAllLines(Paths.get("/proc/self/maps"), StandardCharsets.ISO_8859_1).stream()
                .filter(line -> line.contains(name)).count();
    }

    /** Collects garbage until a condition holds; fails after a minute. */
    static void collectUntil(Condition condition) throws Exception {
        for (int i = 0; i < 600; ++i) {
            System.gc();
            if (condition.holds()) return;
            Thread.sleep(100);
        }
        throw new AssertionError("the garbage collector did not give everything back");
    }

    /** A condition that reads files. */
    interface Condition {
        boolean holds() throws Exception;
    }
}
