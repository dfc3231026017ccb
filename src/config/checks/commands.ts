import { mapAt, textAt } from '../../util/plain.ts'
import { pointerTo } from '../../util/pointer.ts'
import type { Report } from '../problem.ts'

/** A command is one program: no arguments, no shell. `isFile` tells whether a path with spaces is one after all. */
export function checkCommands(config: unknown, isFile: (path: string) => boolean, report: Report): void {
  const upstreams = mapAt(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    const command =
      textAt(upstreams, name, 'type') === 'stdio' ? textAt(upstreams, name, 'command') : undefined
    if (command === undefined || !/[\s|&;<>`$"'*?]/.test(command) || isFile(command)) continue
    report({ pointer: `${pointerTo('/upstreams', name)}/command`, ...advice(command) })
  }
}

function advice(command: string): { message: string; hint: string } {
  const [program = '', ...args] = command.trim().split(/\s+/)
  if (/[|&;<>`$"'*?]/.test(command)) {
    const hint = 'give the program here and its arguments in "args", or put the line into a script'
    return { message: 'no shell reads the command, so this would be taken for one file name', hint }
  }
  const hint = `write command: ${program}${args.length === 0 ? '' : `, args: ${JSON.stringify(args)}`}`
  return { message: 'the command holds more than the name of a program', hint }
}
