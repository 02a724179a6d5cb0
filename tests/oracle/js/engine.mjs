// The real scan of SillyTavern 1.19.0, from its npm package, with nothing of a browser around it.
import { createRequire, register } from 'node:module';
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Stage, TOKENIZERS, expandMacros, hollow } from './stage.mjs';

const REAL = [
    'scripts/world-info.js',
    'scripts/utils.js',
    'scripts/tags.js',
    'scripts/constants.js',
    'scripts/util/StructuredCloneMap.js',
    'scripts/extensions/regex/engine.js',
];
const NOTE = '2_floating_prompt';

/** Which names each module is asked for, by path. */
function importedNames(files, parse) {
    const names = {};
    for (const file of files) {
        for (const node of parse(readFileSync(file, 'utf8')).body) {
            if (node.type !== 'ImportDeclaration') continue;
            const path = resolve(dirname(file), node.source.value);
            const wanted = node.specifiers.map(one => one.imported?.name ?? 'default');
            names[path] = [...new Set([...(names[path] ?? []), ...wanted])];
        }
    }
    return names;
}

/** Load the engine of one installation. */
export async function loadEngine(packageFolder) {
    const require = createRequire(join(packageFolder, 'package.json'));
    const acorn = require('acorn');
    const parse = text => acorn.parse(text, { ecmaVersion: 'latest', sourceType: 'module' });
    const folder = join(packageFolder, 'public');
    const real = REAL.map(name => join(folder, name));
    const host = new Host();
    globalThis.oracleStage = host.stage;
    for (const name of ['$', 'jQuery', 'toastr', 'Option', 'document', 'navigator', 'DOMParser']) {
        if (globalThis[name] === undefined) globalThis[name] = hollow;
    }
    globalThis.window ??= globalThis;
    for (const name of ['log', 'debug', 'info', 'warn', 'error']) console[name] = () => { };
    register('./hooks.mjs', {
        parentURL: import.meta.url,
        data: { real, namesOf: importedNames(real, parse) },
    });
    const module = name => import(pathToFileURL(join(folder, name)).href);
    const tags = await module('scripts/tags.js');
    const worldInfo = await module('scripts/world-info.js');
    const settings = { charLore: [] };
    worldInfo.setWorldInfoSettings({ world_info: settings }, { world_names: [] });
    host.tagMap = tags.tag_map;
    return new Engine(host, worldInfo, settings);
}

/** What the engine asks its surroundings for; a case fills it in. */
class Host {
    handlers = {};
    listener = () => { };
    prompts = {};
    character = { list: [], current: undefined };
    names = { user: 'User', char: 'Char' };
    countTokens = TOKENIZERS.len4;
    note = null;
    tagMap = {};
    regexScripts = { disabledExtensions: [], regex: [], note: { allowWIScan: false } };
    power = { persona_description_lorebook: '', user_avatar: '' };

    constructor() {
        const expand = text => expandMacros(text, this.names);
        this.regexScripts.character_allowed_regex = [];
        this.regexScripts.preset_allowed_regex = {};
        this.stage = new Stage({
            substituteParams: expand,
            substituteParamsExtended: expand,
            getExtensionPromptByName: async name => expand(this.prompts[name]?.value),
            getContext: () => this.context(),
            eventSource: {
                on: (event, handler) => { (this.handlers[event] ??= []).push(handler); },
                emit: async (event, argument) => this.listener(event, argument),
            },
            event_types: new Proxy({}, { get: (_target, name) => String(name) }),
            extension_settings: this.regexScripts,
            extension_prompt_roles: { SYSTEM: 0, USER: 1, ASSISTANT: 2 },
            power_user: this.power,
            getTokenCountAsync: async text => (text ? this.countTokens(String(text)) : 0),
            getRequestHeaders: () => ({}),
            getPresetManager: () => undefined,
            chat_metadata: {},
            characters: [],
            this_chid: undefined,
            name1: 'User',
            shouldWIAddPrompt: false,
            NOTE_MODULE_NAME: NOTE,
            metadata_keys: { position: 'note_position', depth: 'note_depth', role: 'note_role' },
            accountStorage: { getItem: () => null, setItem: () => { } },
            t: (strings, ...values) => String.raw({ raw: strings }, ...values),
        });
    }

    context() {
        return {
            extensionPrompts: this.prompts,
            characters: this.character.list,
            characterId: this.character.current,
            tagMap: this.tagMap,
            setExtensionPrompt: (_name, text) => { this.note = text; },
        };
    }
}

const identity = entry => [entry.world ?? null, entry.uid ?? null];
const nameOf = entry => `${entry.world}.${entry.uid}`;

/** Runs cases one after the other. */
class Engine {
    constructor(host, worldInfo, settings) {
        Object.assign(this, { host, worldInfo, settings });
    }

    /** Run a case and give what its `expected` would hold. */
    async run(given) {
        const metadata = this.#prepare(given);
        const log = new Log();
        let ended = false;
        this.host.listener = (event, argument) => log.hear(event, argument);
        const random = Math.random;
        Math.random = () => log.draw(given.random ?? 0.5);
        try {
            const hashes = {};
            for (const entry of await this.worldInfo.getSortedEntries()) {
                hashes[nameOf(entry)] = entry.hash;
            }
            const found = await this.#scan(given);
            ended = log.sorted !== null;
            return { ...this.#recorded(found, given, log, hashes), timed_state_after: metadata.timedWorldInfo ?? {} };
        } catch (fault) {
            return {
                error: fault.name,
                error_message: `${fault.name}: ${fault.message}`,
                timed_state_after: metadata.timedWorldInfo ?? {},
            };
        } finally {
            Math.random = random;
            if (!ended) await this.#forget();
        }
    }

    /** Time a case: milliseconds of each repetition, and how many entries were activated. */
    async time(given, repeat) {
        const samples = [];
        let activated = 0;
        const random = Math.random;
        try {
            for (let round = 0; round < repeat; round++) {
                this.#prepare(given);
                this.host.listener = () => { };
                const log = new Log();
                Math.random = () => log.draw(given.random ?? 0.5);
                const start = performance.now();
                const found = await this.#scan(given);
                samples.push(performance.now() - start);
                activated = found.allActivatedEntries.size;
            }
        } finally {
            Math.random = random;
        }
        return { samples_ms: samples, activated };
    }

    #scan(given) {
        const joined = message => (
            given.settings.world_info_include_names ? `${message.name}: ${message.text}` : message.text
        );
        const sources = {
            personaDescription: '', characterDescription: '', characterPersonality: '',
            characterDepthPrompt: '', scenario: '', creatorNotes: '',
            ...given.scan_data,
            trigger: given.trigger ?? 'normal',
        };
        const chat = given.chat.map(joined).reverse();
        return this.worldInfo.checkWorldInfo(chat, given.max_context, Boolean(given.dry_run), sources);
    }

    #prepare(given) {
        const { host } = this;
        const books = this.#fillBooks(given.books);
        this.#chooseCharacter(given.character ?? {}, books.character);
        host.power.persona_description_lorebook = books.persona.at(-1) ?? '';
        const metadata = { note_position: 1, note_depth: 4, note_role: 0 };
        const state = given.timed_state_before;
        if (state && Object.keys(state).length) metadata.timedWorldInfo = structuredClone(state);
        if (books.chat.length) metadata.world_info = books.chat.at(-1);
        host.stage.set('chat_metadata', metadata);
        host.stage.set('shouldWIAddPrompt', Boolean(given.author_note_active));
        host.prompts = structuredClone(given.extension_prompts ?? {});
        if (given.author_note_active) host.prompts[NOTE] ??= { value: given.author_note ?? '' };
        host.regexScripts.regex = structuredClone(given.regex_scripts ?? []);
        host.countTokens = TOKENIZERS[given.tokenizer ?? 'len4'];
        host.names = { user: given.user_name ?? 'User', char: given.character?.name ?? 'Char' };
        host.note = null;
        this.worldInfo.updateWorldInfoSettings({ ...given.settings }, books.global);
        for (const handler of host.handlers.WORLDINFO_FORCE_ACTIVATE ?? []) {
            handler(structuredClone(given.forced ?? []));
        }
        return metadata;
    }

    #fillBooks(books) {
        const bound = { global: [], character: [], chat: [], persona: [] };
        this.worldInfo.worldInfoCache.clear();
        for (const book of books) {
            const entries = {};
            book.entries.forEach((entry, at) => {
                entries[book.entry_keys ? book.entry_keys[at] : String(entry?.uid ?? at)] = structuredClone(entry);
            });
            this.worldInfo.worldInfoCache.set(book.name, { entries });
            for (const source of [book.source].flat()) bound[source].push(book.name);
        }
        return bound;
    }

    #chooseCharacter(who, books) {
        const avatar = who.avatar ?? 'Char.png';
        const extensions = { world: books[0] };
        if (who.regex_scripts) extensions.regex_scripts = who.regex_scripts;
        const card = { name: who.name ?? 'Char', avatar, data: { extensions } };
        const list = who.none ? [] : [card];
        const current = who.none ? undefined : 0;
        this.host.character = { list, current };
        this.host.stage.set('characters', list);
        this.host.stage.set('this_chid', current);
        const { tagMap } = this.host;
        for (const key of Object.keys(tagMap)) delete tagMap[key];
        if (!who.no_tag_key) tagMap[avatar] = who.tags ?? [];
        const name = avatar.replace(/\.[^/.]+$/, '');
        this.settings.charLore = books.length > 1 ? [{ name, extraBooks: books.slice(1) }] : [];
    }

    #recorded(found, given, log, hashes) {
        const all = [...found.allActivatedEntries];
        const texts = anchor => found.EMEntries.filter(one => one.position === anchor).map(one => one.content);
        const record = {
            activated: all.map(identity),
            prompt_order: [...all].sort((one, other) => other.order - one.order).map(identity),
            before: found.worldInfoBefore,
            after: found.worldInfoAfter,
            depth: found.WIDepthEntries.map(({ depth, role, entries }) => ({ depth: depth ?? null, role, entries })),
            an_top: found.ANBeforeEntries,
            an_bottom: found.ANAfterEntries,
            em_top: texts(0),
            em_bottom: texts(1),
            outlets: found.outletEntries,
            random_draws: log.draws,
            budget: log.budget,
            loops: log.loops,
            contents: Object.fromEntries(all.map(entry => [nameOf(entry), entry.content])),
        };
        if (found.EMEntries.length) {
            record.em_order = found.EMEntries.map(one => [one.position === 0 ? 'top' : 'bottom', one.content]);
        }
        if (given.author_note_active) record.author_note_after = this.host.note;
        if (Object.keys(hashes).length) record.hashes = hashes;
        if (log.sorted) record.sorted_order = log.sorted;
        return record;
    }

    /** Let a scan end well: one that threw, or had no entries, does not forget what was forced. */
    async #forget() {
        const entry = { uid: 0, key: [], order: 1 };
        const book = { name: '_', source: 'global', entries: [entry] };
        this.#prepare({ books: [book], settings: {}, chat: [] });
        this.host.listener = () => { };
        await this.worldInfo.checkWorldInfo([], 1, false, { trigger: 'normal' });
    }
}

/** What is heard of a scan while it runs. */
class Log {
    draws = 0;
    loops = [];
    budget = null;
    sorted = null;

    draw(values) {
        const at = this.draws++;
        return Array.isArray(values) ? values[Math.min(at, values.length - 1)] : values;
    }

    hear(event, done) {
        if (event !== 'WORLDINFO_SCAN_DONE') return;
        this.sorted ??= done.sortedEntries.map(identity);
        this.budget = { limit: done.budget.current, overflowed: done.budget.overflowed };
        this.loops.push({
            loop: done.state.loopCount,
            state: done.state.current,
            next: done.state.next,
            found: done.new.all.map(identity),
            successful: done.new.successful.map(identity),
            activated_after: [...done.activated.entries.values()].map(identity),
            recursion_level: done.recursionDelay.currentLevel,
            overflowed: done.budget.overflowed,
        });
    }
}
