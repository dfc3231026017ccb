import type { Result } from './result.ts'
import { aloneInProcessTable, memoryTable, startTable, worksTable } from './table.ts'

/** Prints a whole result as tables. */
export function print(result: Result): void {
  console.log(machineLines(result).join('\n'))
  for (const remark of result.remarks) console.log(remark)
  const { works, starts, memory, plugins } = result
  const tables = [
    works.length > 0 ? worksTable(works) : '',
    starts.length > 0 ? startTable(starts) : '',
    memory.length > 0 ? memoryTable(memory) : '',
    plugins.length > 0 ? aloneInProcessTable(plugins) : '',
  ]
  for (const table of tables.filter(table => table !== '')) console.log(`\n${table}`)
}

/** All that it was measured on, with and when. */
export function machineLines(result: Result): readonly string[] {
  const { cpu, cores, gigabytes, platform, node, version, commit, date, mode, pinned, seconds } = result
  const beside = [...(result.nginx === undefined ? [] : [`nginx ${result.nginx}`]), ...result.peers]
  return [
    `${cpu} × ${cores}, ${gigabytes} GB, ${platform}`,
    `Node ${node}, tapgate ${version} (${commit}), ${date}, ${mode} run of ${seconds} s${pinned ? ', pinned' : ''}`,
    ...(result.load > result.cores / 2
      ? [
          `others were at work (load ${result.load.toFixed(1)} when it began): ratios of CPU are too high, latency and throughput say little`,
        ]
      : []),
    ...(beside.length === 0 ? [] : [`beside ${beside.join(', ')}`]),
  ]
}
