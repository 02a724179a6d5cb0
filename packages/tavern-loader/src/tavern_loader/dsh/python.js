// Which Python runs the other half, and with what.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));

/** The host's home folder. */
export function dshHome(env = process.env) {
    const named = env.DSH_HOME;
    if (!named) return join(homedir(), '.dsh');
    return resolve(named === '~' || named.startsWith('~/') ? join(homedir(), named.slice(1)) : named);
}

/** The Python of the environment this file was installed in: folders above `site-packages`. */
function pythonAround(folder) {
    for (let at = folder; at !== dirname(at); at = dirname(at)) {
        for (const place of [join(at, 'bin', 'python'), join(at, 'Scripts', 'python.exe')]) {
            if (existsSync(join(at, 'pyvenv.cfg')) && existsSync(place)) return place;
        }
    }
    return process.platform === 'win32' ? 'python' : 'python3';
}

/** @returns what to spawn, for settings and an environment */
export function pythonStart(settings, env = process.env) {
    const home = dshHome(env);
    return {
        command: settings.python ?? env.TAVERN_PYTHON ?? pythonAround(HERE),
        // -P: the folder DSH was started in must not be where modules come from.
        args: ['-P', '-m', 'tavern_loader', 'host'],
        env: { ...env, DSH_HOME: home },
        cwd: existsSync(home) ? home : undefined,
    };
}
