/** The load client: a process of its own, so that what it costs is nobody else's. */
import { holdSessions, measureHttp } from './http.ts'
import { StdioProcess } from './stdio.ts'
import type { Cell, Measured, Order, Report } from './messages.ts'

const processes = new Map<string, StdioProcess>()

process.on('message', (order: Order) => void obey(order))
// The bench says both, and ends us itself should this take too long.
process.on('SIGTERM', () => undefined)
process.on('disconnect', () => {
  void Promise.all([...processes.values()].map(started => started.stop())).then(() => process.exit())
})
process.on('exit', () => {
  for (const started of processes.values()) started.kill()
})

async function obey(order: Order): Promise<void> {
  try {
    say({ id: order.id, ...(await done(order)) })
  } catch (error) {
    say({ id: order.id, error: error instanceof Error ? error.message : String(error) })
  }
}

async function done(order: Order): Promise<Partial<Report>> {
  if ('start' in order) return start(order.start)
  if ('cell' in order) return { measured: await measure(order.cell) }
  await holdSessions(order.hold)
  return {}
}

function say(report: Report): void {
  process.send?.(report)
}

async function start({ name, args }: { name: string; args: readonly string[] }): Promise<Partial<Report>> {
  const started = new StdioProcess(args)
  processes.set(name, started)
  await started.initialize()
  const { pid } = started
  return pid === undefined ? {} : { pid }
}

function measure(cell: Cell): Promise<Measured> {
  const { target } = cell
  if ('url' in target) return measureHttp({ url: new URL(target.url), headers: target.headers ?? {} }, cell)
  return named(target.process).measure(cell)
}

function named(name: string): StdioProcess {
  const started = processes.get(name)
  if (started === undefined) throw new Error(`no process is named ${name}`)
  return started
}
