import type { CallRecord, Config, Plugin } from '../../src/plugin.ts'
import { compileGlobs, METHODS, parseDuration, parseSize } from '../../src/plugin.ts'
import type { CallRow } from './writer.ts'

type ActivityOptions = NonNullable<Config['activity']>

/** Records recent calls in a database that `gateway activity` and `gateway usage` read. */
export const activity: Plugin<ActivityOptions> = {
  name: 'activity',
  claims: { section: 'activity', records: true },
  commands: () => import('./commands.ts'),
  async setup({ options, directory, hooks, clock, log, slot }) {
    const { RecordCounters, ActivityWriter } = await import('./writer.ts')
    const { resolveDatabasePath } = await import('./writer.ts')
    const path = resolveDatabasePath(options, directory)
    const bounds = { keepMs: parseDuration(options.keep), maxBytes: parseSize(options.maxSize) }
    const settings = { path, ...bounds, maxCalls: options.maxCalls, everyMs: parseDuration(options.every) }
    const counts = slot.gateway(() => new RecordCounters())
    const writer = new ActivityWriter(settings, counts, { clock, log })
    const showsValues = compileGlobs(options.values ?? [])

    hooks.settled.tap({ ...buildMethodFilter(options), timed: true }, ({ record }) =>
      writer.add(createRow(record, record.shape !== undefined && showsValues(record.name))),
    )
    hooks.control.for('activity.flush').tap(() => ({ written: writer.flush() }))
    hooks.metrics.tap(figures => [...figures, ...counts.figures()])
    hooks.close.tap(() => writer.close())
  },
}

/** Creates a database row; structured values are JSON. */
function createRow(record: CallRecord, hasValues: boolean): CallRow {
  // Omit the functions, which refer to the call's values.
  const { writeArguments, writeResult: _, principal, shape, times, ...facts } = record
  return {
    ...facts,
    principal: JSON.stringify(principal),
    shape: shape === undefined ? '' : JSON.stringify(shape),
    args: hasValues ? writeArguments() : '',
    times: times === undefined ? '' : formatTimes(times),
  }
}

/** Omits the time of client requests if there were none. */
function formatTimes({ tries, upstream, client }: NonNullable<CallRecord['times']>): string {
  return JSON.stringify({ tries, upstream, ...(client > 0 ? { client } : {}) })
}

/** Omits the method list if all are recorded: a tap without names also receives unknown methods. */
function buildMethodFilter({ methods }: ActivityOptions): { methods?: string[] } {
  const isMeant = compileGlobs(methods)
  const isAll = isMeant('*') && [...METHODS.keys()].every(isMeant)
  return isAll ? {} : { methods: [...METHODS.keys()].filter(isMeant) }
}
