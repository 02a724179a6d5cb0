// Made by "tavern-loader install"; "tavern-loader uninstall" takes it away. Loads the bridge from the
// Python environment that is named in installed.json. If that is gone, DSH goes on without it.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const name = 'tavern-loader';

// The host loads its plugins long before it applies them: Python starts meanwhile.
const started = begin();

function begin() {
    try {
        const installed = JSON.parse(readFileSync(new URL('./installed.json', import.meta.url), 'utf8'));
        const bridge = import(pathToFileURL(installed.bridge).href);
        bridge.catch(() => { }); // told when it is applied
        return { bridge, python: installed.python, child: startPython(installed) };
    } catch (error) {
        return { bridge: Promise.reject(error), python: undefined, child: undefined };
    }
}

/** A process that keeps nobody alive, and ends when this one does. */
function startPython({ python, arguments: args, bridge }) {
    const cwd = fileURLToPath(new URL('.', pathToFileURL(bridge)));
    const child = spawn(python, args, { stdio: ['pipe', 'pipe', 'pipe'], cwd, env: environment(), windowsHide: true });
    child.once('error', () => { }); // it is tried again, and told then
    for (const part of [child, child.stdin, child.stdout, child.stderr]) part?.unref?.();
    return child;
}

/** A home that is named from the folder DSH was started in means the same in another folder. */
function environment({ DSH_HOME: home, ...others } = process.env) {
    if (!home) return others;
    return { ...others, DSH_HOME: home.startsWith('~') ? home : resolve(home) };
}

export async function apply(ctx, config) {
    const { python, child } = started;
    let bridge;
    try {
        bridge = await started.bridge;
    } catch (error) {
        child?.kill();
        process.stderr.write(`tavern-loader: the bridge cannot be loaded: ${error.message}. DSH goes on without`
            + ' Tavern; run "tavern-loader install" again, or "tavern-loader uninstall"\n');
        return;
    }
    if (child !== undefined) bridge.offer(python, child);
    started.child = undefined; // it is given away once
    await bridge.apply(ctx, { python, ...config });
}
