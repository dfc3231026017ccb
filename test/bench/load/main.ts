/** The load client: a process of its own, so that what it costs is nobody else's. */
import { measureHttp } from './http.ts'
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
    say({
      id: order.id,
      ...('start' in order ? { pid: await start(order.start) } : { measured: await measure(order.cell) }),
    })
  } catch (error) {
    say({ id: order.id, error: error instanceof Error ? error.message : String(error) })
  }
}

function say(report: Report): void {
  process.send?.(report)
}

async function start({ name, args }: { name: string; args: readonly string[] }): Promise<number | undefined> {
  const started = new StdioProcess(args)
  processes.set(name, started)
  await started.initialize()
  return started.pid
}

function measure(cell: Cell): Promise<Measured> {
  if ('url' in cell.target) return measureHttp(new URL(cell.target.url), cell)
  const started = processes.get(cell.target.process)
  if (started === undefined) throw new Error(`no process is named ${cell.target.process}`)
  return started.measure(cell)
}
