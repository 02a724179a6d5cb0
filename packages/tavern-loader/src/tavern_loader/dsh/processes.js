// Processes of Python. One may have been started already, while the host was loading its plugins; it
// is taken by the first who needs one.
import { spawn } from 'node:child_process';

let offered;

/** Offer a running process of a command. */
export function offer(command, child) {
    offered = { command, child };
}

/** @returns the offered process, if it is the wanted one and still there */
function takeOffered(command) {
    const found = offered;
    offered = undefined;
    if (found === undefined || found.child.pid === undefined) return undefined;
    const { child } = found;
    if (child.exitCode !== null || child.signalCode !== null) return undefined;
    if (found.command !== command) {
        child.kill('SIGKILL');
        return undefined;
    }
    for (const part of [child, child.stdin, child.stdout, child.stderr]) part.ref();
    return child;
}

/**
 * @param {{command: string, args: string[], env: object, cwd?: string}} start
 * @returns a running process
 */
export function pythonProcess({ command, args, env, cwd }) {
    return takeOffered(command) ?? spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env, cwd, windowsHide: true });
}
