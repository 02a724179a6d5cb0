// The modules of the bridge, from where the tested package has them.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** @param {string} name a file of the bridge */
export function bridge(name) {
    return import(pathToFileURL(join(process.env.TAVERN_BRIDGE, name)).href);
}
