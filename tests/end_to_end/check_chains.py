# SPDX-License-Identifier: GPL-2.0-or-later
"""check_chains.py HARNESS PROFILE: plants wrong callers into the chains of tests/workloads/deep.c and
prints, separated by tabs, "ok" or "not ok" and the name of each, by whether HARNESS/check_chains.py
finds them, and tells a tail call from a switch."""
import sys

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import check_chains  # noqa: E402


def without_deep_work(frames):
    return [frame for frame in frames if frame.name != "deep_work"]


def one_byte_on(frames):
    return [frame._replace(address=frame.address + 1) if frame.name == "deep_work" else frame
            for frame in frames]


def called_by_itself(frames):
    return [frame for frame in frames if frame.name == "deep_work"] + frames


def is_found(plant, samples):
    """Is each chain found wrong, but none as it was?"""
    checker = check_chains.Checker()
    planted = [(comm, count, plant(frames)) for comm, count, frames in samples]
    before = check_chains.check_samples(samples, checker)
    after = check_chains.check_samples(planted, checker)
    return before.wrong_chains == 0 and after.wrong_chains == after.chains == before.chains > 0


def is_told_from_switch():
    """glibc calls DT_FINI of a file by a jump to an address that it adds up from memory."""
    def is_table(before):
        texts = [before, "pop    %rbp", "pop    %r12", "jmp    *%rax"]
        return check_chains.is_table_jump([check_chains.Instruction(0, 0, text) for text in texts], 3)

    return is_table("add    %rdx,%rax") and not is_table("add    0x8(%rdx),%rax")


def is_whole(frames):
    names = [frame.name for frame in frames]
    return names[:2] == ["work_units", "deep_work"] and "main" in names


def main():
    samples = [sample for sample in check_chains.Profile.read(sys.argv[2]).samples
               if is_whole(sample[2])]
    for name, plant in (("a frame is missing", without_deep_work),
                        ("a return address is not behind a call", one_byte_on),
                        ("a function is called by a wrong one", called_by_itself)):
        print("ok" if is_found(plant, samples) else "not ok", name, sep="\t")
    print("ok" if is_told_from_switch() else "not ok", "a tail call is no switch", sep="\t")


main()
