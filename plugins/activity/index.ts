import type { Config, Plugin } from '../../src/plugin.ts'
import { compileGlobs, METHODS, parseDuration, parseSize } from '../../src/plugin.ts'
import { resolveDatabasePath } from './database-path.ts'
import { RecordFactory } from './call-record.ts'

type ActivityOptions = NonNullable<Config['activity']>

/** Records recent calls in a database that `gateway activity` and `gateway usage` read. */
export const activity: Plugin<ActivityOptions> = {
  name: 'activity',
  claims: { section: 'activity', records: true },
  commands: () => import('./commands.ts'),
  async setup({ options, directory, hooks, clock, log, hide, slot }) {
    const { RecordCounters, ActivityWriter } = await import('./writer.ts')
    const path = resolveDatabasePath(options, directory)
    const bounds = { keepMs: parseDuration(options.keep), maxBytes: parseSize(options.maxSize) }
    const settings = { path, ...bounds, maxCalls: options.maxCalls, everyMs: parseDuration(options.every) }
    const counts = slot.gateway(() => new RecordCounters())
    const writer = new ActivityWriter(settings, counts, { clock, log })
    const records = new RecordFactory(hide, () => clock.now(), options.values ?? [])

    hooks.settled.tap({ ...buildMethodFilter(options), timed: true }, exchange =>
      writer.add(records.createRecord(exchange)),
    )
    hooks.control.for('activity.flush').tap(() => ({ written: writer.flush() }))
    hooks.metrics.tap(figures => [...figures, ...counts.figures()])
    hooks.close.tap(() => writer.close())
  },
}

/** Omits the method list if all are recorded: a tap without names also receives unknown methods. */
function buildMethodFilter({ methods }: ActivityOptions): { methods?: string[] } {
  const isMeant = compileGlobs(methods)
  const isAll = isMeant('*') && [...METHODS.keys()].every(isMeant)
  return isAll ? {} : { methods: [...METHODS.keys()].filter(isMeant) }
}
