// Processes of Python: one may be started ahead, while the host is still loading its plugins, and be
// taken later by whoever needs it.
import { spawn } from 'node:child_process';

const UNUSED_MS = 30_000;

let ahead;

/** @param {{command: string, args: string[], env: object, cwd?: string}} start */
function spawnPython({ command, args, env, cwd }) {
    return spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env, cwd, windowsHide: true });
}

function streamsOf(child) {
    return [child, child.stdin, child.stdout, child.stderr];
}

/** Start a process that may be wanted soon; it keeps nobody alive, and ends if nobody takes it. */
export function startAhead(start) {
    const child = spawnPython(start);
    child.once('error', () => { ahead = undefined; });
    streamsOf(child).forEach(part => part?.unref?.());
    ahead = { command: start.command, child };
    setTimeout(() => takeProcess({ command: undefined }), UNUSED_MS).unref();
}

/** @returns the process that was started ahead, if it is the wanted one and still there */
function takeProcess({ command }) {
    const found = ahead;
    ahead = undefined;
    if (found === undefined || found.child.exitCode !== null || found.child.signalCode !== null) return undefined;
    if (found.command !== command) {
        found.child.kill('SIGKILL');
        return undefined;
    }
    streamsOf(found.child).forEach(part => part.ref());
    return found.child;
}

/** @returns a running process for `start` */
export function pythonProcess(start) {
    return takeProcess(start) ?? spawnPython(start);
}
