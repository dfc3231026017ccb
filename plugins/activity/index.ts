import type { Config, Plugin } from '../../src/plugin.ts'
import { compileGlobs, METHODS, parseDuration, parseSize } from '../../src/plugin.ts'
import { fileOf } from './place.ts'
import { Records } from './records.ts'

type Options = NonNullable<Config['activity']>

/** Keeps the calls of the last days, in a file that `gateway activity` and `gateway usage` read. */
export const activity: Plugin<Options> = {
  name: 'activity',
  claims: { section: 'activity', records: true },
  commands: () => import('./commands.ts'),
  async setup({ options, directory, hooks, clock, log, hide, slot }) {
    const { RecordCounts, Writer } = await import('./writer.ts')
    const path = fileOf(options, directory)
    const bounds = { keepMs: parseDuration(options.keep), maxBytes: parseSize(options.maxSize) }
    const settings = { path, ...bounds, maxCalls: options.maxCalls, everyMs: parseDuration(options.every) }
    const counts = slot.gateway(() => new RecordCounts())
    const writer = new Writer(settings, counts, { clock, log })
    const records = new Records(hide, () => clock.now(), options.values ?? [])

    hooks.settled.tap({ ...methodsOf(options), timed: true }, exchange => writer.add(records.of(exchange)))
    hooks.control.for('activity.flush').tap(() => ({ written: writer.flush() }))
    hooks.figures.tap(figures => [...figures, ...counts.figures()])
    hooks.close.tap(() => writer.close())
  },
}

/** A tap names methods; without names it hears of those that nobody knows, too. */
function methodsOf({ methods }: Options): { methods?: string[] } {
  const isMeant = compileGlobs(methods)
  const isAll = isMeant('*') && [...METHODS.keys()].every(isMeant)
  return isAll ? {} : { methods: [...METHODS.keys()].filter(isMeant) }
}
