// The settings of the row in the host's configuration.

const FAIL_MODES = ['open', 'closed'];
const DEFAULTS = { failMode: 'open', callTimeoutMs: 15_000, startTimeoutMs: 20_000 };

/**
 * Take the settings that are usable, and say which are not.
 * @returns {{settings: object, remarks: string[]}}
 */
export function readSettings(config) {
    const given = { ...DEFAULTS, ...config };
    const remarks = [];
    const check = (name, isUsable, wanted) => {
        if (isUsable(given[name])) return;
        remarks.push(`setting ${name} must be ${wanted}; it is taken as ${DEFAULTS[name] ?? 'not set'}`);
        given[name] = DEFAULTS[name];
    };
    const isTime = value => Number.isSafeInteger(value) && value >= 100 && value <= 600_000;
    check('failMode', value => FAIL_MODES.includes(value), '"open" or "closed"');
    check('callTimeoutMs', isTime, 'a whole number from 100 to 600000');
    check('startTimeoutMs', isTime, 'a whole number from 100 to 600000');
    check('python', value => value === undefined || (typeof value === 'string' && value !== ''), 'a path');
    return { settings: given, remarks };
}
