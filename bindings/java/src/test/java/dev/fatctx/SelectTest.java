package dev.fatctx;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Choices agree with the command, and sessions give the chosen bytes. */
class SelectTest {
    @TempDir static Path folder;
    static Path packed;

    @BeforeAll
    static void pack() throws IOException {
        packed = Samples.pack(folder);
    }

    @ParameterizedTest
    @ValueSource(strings = {"SM8650", "SM8550", "v79", "v68", "x86-64-v3", "aarch64+dotprod", "69"})
    void explanationsAreThoseOfTheCommand(String text) {
        try (Container container = Container.open(packed);
                Device device = Device.parse(text)) {
            SelectOptions options = new SelectOptions().device(device);
            String explained = container.explain(options);
            boolean fits = true;
            try (Model model = container.select(options)) {
                assertEquals(explained, model.explain());
            } catch (NoMatchException none) {
                fits = false;
                assertSame(ErrorCode.NO_MATCH, none.code());
            }
            String printed = Samples.command(fits ? 0 : 4, "select", packed, "--device", text);
            assertEquals(printed.trim(), explained.trim());
        }
    }

    @Test
    void thisMachine() {
        try (Container container = Container.open(packed);
                Device device = Device.detect();
                Model model = container.select()) {
            assertEquals(Samples.command(0, "select", packed).trim(), container.explain().trim());
            assertEquals(container.explain(), container.explain(new SelectOptions().device(device)));
            assertEquals(container.explain(), model.explain());
        }
    }

    @Test
    void optionsReachTheLibrary() {
        try (Container container = Container.open(packed);
                Device device = Device.parse("v79")) {
            assertThrows(NoMatchException.class, () -> container.select(new SelectOptions().device(device)));
            try (Model lower = container.select(new SelectOptions().device(device).allowLowerArch(true))) {
                assertEquals("v75", container.record(lower.selection().chosen()[0]).arch());
                assertSame(Level.PREFER_RECOMPILATION, lower.selection().level());
            }
            assertThrows(NoMatchException.class,
                    () -> container.select(new SelectOptions().device(device).allowLowerArch(true).strict(true)));
            String first = container.record(Samples.idOf(container, "v73")).name();
            try (Model forced = container.select(new SelectOptions().device(device).record(first).force(true))) {
                assertEquals("v73", container.record(forced.selection().chosen()[0]).arch());
            }
            assertThrows(InvalidArgumentException.class, () -> container.select(new SelectOptions().group("nobody")));
            assertThrows(InvalidArgumentException.class, () -> container.explain(new SelectOptions().maxSdk("x")));
            assertThrows(InvalidArgumentException.class, () -> container.explain(new SelectOptions().group("net\0")));
        }
    }

    @Test
    void theSelectionAndItsSession() throws IOException {
        ByteBuffer bytes;
        String name;
        try (Container container = Container.open(packed);
                Device device = Device.parse("SM8650");
                Model model = container.select(new SelectOptions().device(device))) {
            Selection selection = model.selection();
            assertEquals("net", selection.group());
            assertEquals(1, selection.chosen().length);
            RecordInfo chosen = container.record(selection.chosen()[0]);
            name = chosen.name();
            assertEquals("v75", chosen.arch());
            List<Verdict> verdicts = selection.verdicts();
            assertEquals(4, verdicts.size());
            List<Integer> taken =
                    verdicts.stream().filter(Verdict::chosen).map(Verdict::recordId).collect(Collectors.toList());
            assertEquals(List.of(chosen.id()), taken);
            for (Verdict verdict : verdicts) {
                assertEquals(verdict.chosen(), verdict.axis().isEmpty());
                assertTrue(verdict.chosen() || verdict.axis().matches("A\\d+|no_tier"), verdict.axis());
            }
            Session session = model.beginSession();
            device.close();
            container.close();
            model.close();
            assertEquals(List.of(), session.weights());
            try (View binary = session.binary()) {
                bytes = binary.bytes();
            }
            assertThrows(NotFoundException.class, () -> session.binary("nobody"));
            assertThrows(FatctxException.class, () -> session.tensor("nothing"));
            session.end();
            assertThrows(StaleHandleException.class, session::end);
            assertThrows(StaleHandleException.class, session::binary);
            session.close();
        }
        assertArrayEquals(Samples.extract(packed, name, folder), Samples.bytesOf(bytes));
    }

    @Test
    void weightsOfASession() throws IOException {
        Path plain = Samples.GOLDEN.resolve("plain.fatctx");
        byte[] expected = Samples.extract(plain, "weights", folder);
        try (Container container = Container.open(plain);
                Model model = container.select(new SelectOptions().record("binary").force(true));
                Session session = model.beginSession()) {
            List<View> weights = session.weights();
            assertEquals(1, weights.size());
            assertArrayEquals(expected, Samples.bytesOf(weights.get(0).bytes()));
            String name = container.tensors(container.find("weights").id()).get(0).name();
            try (Tensor tensor = session.tensor(name)) {
                assertEquals(name, tensor.info().name());
            }
            weights.get(0).close();
        }
    }

    @Test
    void devices() {
        InvalidArgumentException refused =
                assertThrows(InvalidArgumentException.class, () -> Device.parse("no such chip"));
        assertTrue(refused.getMessage().contains("SM8750"), refused.getMessage()); // names the forms
        assertThrows(InvalidArgumentException.class, () -> Device.parse(""));
        assertThrows(UnsupportedException.class, () -> Device.parse("{\"schema\": \"fatctx.device/1\"}"));
        try (Device here = Device.detect()) {
            assertThrows(NotFoundException.class, here::npu); // a machine without an NPU
        }
    }

    @Test
    void aClosedDeviceIsNotThisMachine() {
        try (Container container = Container.open(packed)) {
            Device device = Device.parse("v75");
            device.close();
            SelectOptions options = new SelectOptions().device(device);
            assertThrows(StaleHandleException.class, () -> container.select(options));
            assertThrows(StaleHandleException.class, () -> container.explain(options));
            assertFalse(container.explain().isEmpty());
        }
    }
}
