package dev.fatctx;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A file that is truncated while it is mapped. Each case is a machine of its own: a fault may end it, the guard holds for a
 * whole process, and -Xcheck:jni complains about every other handler of SIGBUS.
 */
class TruncationTest {
    @TempDir Path folder;

    private String child(String what) throws IOException {
        Path file = Samples.pack(folder);
        List<String> words = new ArrayList<>();
        words.add(Paths.get(System.getProperty("java.home"), "bin", "java").toString());
        words.add("-XX:-CreateCoredumpOnCrash");
        words.add("-XX:ErrorFile=" + folder.resolve("crash.log"));
        for (String name : new String[] {"java.library.path", "fatctx.golden", "fatctx.command"}) {
            words.add("-D" + name + "=" + System.getProperty(name));
        }
        words.add("-cp");
        words.add(System.getProperty("java.class.path"));
        words.add(Child.class.getName());
        words.add(what);
        words.add(file.toString());
        String[] lines = Samples.run(0, words).trim().split("\n"); // newer machines warn about native libraries first
        return lines[lines.length - 1];
    }

    @Test
    void withTheGuardLostBytesAreZeros() throws IOException {
        assertEquals("zeros mapping_lost usable", child("guarded").trim());
    }

    @Test
    void theGuardLeavesOtherFaultsToJava() throws IOException {
        assertEquals("InternalError", child("foreign").trim());
    }

    @Test
    void withoutTheGuardTheVirtualMachineThrows() throws IOException {
        assertEquals("InternalError", child("unguarded").trim());
    }

    @Test
    void aRecordThatIsGoneIsNotAcquired() throws IOException {
        String answer = child("acquire").trim();
        assertTrue(answer.equals("changed") || answer.equals("truncated"), answer);
    }

    /** The program of the other machine. */
    static final class Child {
        public static void main(String[] arguments) throws Exception {
            Path file = Paths.get(arguments[1]);
            if (!arguments[0].equals("unguarded") && !arguments[0].equals("acquire")) Fatctx.installMappingGuard();
            Container container = Container.open(file);
            ByteBuffer bytes = container.acquire(1).bytes();
            if (bytes.get(99_999) != Samples.packedFrom(container.record(1))[99_999]) throw new AssertionError();
            ByteBuffer foreign = mappedByJava(file);
            truncate(file);
            switch (arguments[0]) {
                case "guarded":
                    for (int i = 0; i < bytes.limit(); ++i) {
                        if (bytes.get(i) != 0) throw new AssertionError("byte " + i);
                    }
                    System.out.print("zeros ");
                    try {
                        container.check();
                    } catch (ChangedException changed) {
                        System.out.print(changed.code().word() + " ");
                    }
                    container.close();
                    Path other = Samples.GOLDEN.resolve("plain.fatctx");
                    if (Container.open(other).acquire("weights").bytes().hasRemaining()) System.out.println("usable");
                    break;
                case "foreign":
                    read(foreign);
                    break;
                case "unguarded":
                    read(bytes);
                    break;
                default:
                    try {
                        container.acquire(2);
                    } catch (FatctxException refused) {
                        System.out.println(refused.code().word());
                    }
            }
        }

        private static ByteBuffer mappedByJava(Path file) throws IOException {
            try (RandomAccessFile opened = new RandomAccessFile(file.toFile(), "r")) {
                return opened.getChannel().map(java.nio.channels.FileChannel.MapMode.READ_ONLY, 0, Files.size(file));
            }
        }

        private static void truncate(Path file) throws IOException {
            try (RandomAccessFile opened = new RandomAccessFile(file.toFile(), "rw")) {
                opened.setLength(4096);
            }
        }

        private static void read(ByteBuffer bytes) {
            try {
                long sum = 0;
                for (int i = 0; i < bytes.limit(); ++i) sum += bytes.get(i);
                System.out.println("read " + sum);
            } catch (InternalError fault) {
                System.out.println("InternalError");
            }
        }
    }
}
