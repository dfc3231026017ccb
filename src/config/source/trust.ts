import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { dirname } from 'node:path'
import { gatewayError } from '../../errors/errors.ts'

const ANYBODY_WRITES = 0o002
const STICKY = 0o1000

/**
 * Refuses a configuration file that other users may write: its servers, plugins and commands would run with our rights.
 * @throws GatewayError GW_CONFIG_UNTRUSTED
 */
export function refuseUntrusted(file: string): void {
  const why = explainUntrusted(file)
  if (why !== undefined) throw gatewayError('GW_CONFIG_UNTRUSTED', { file, why })
}

/** Reason why others may write the file; root may anyway. */
function explainUntrusted(file: string): string | undefined {
  const own = process.geteuid?.()
  const link = lstatSync(file, { throwIfNoEntry: false })
  // A text that came in place of a file; no command of it is run.
  if (own === undefined || link === undefined) return undefined
  const directory = statSync(dirname(file))
  const reasons = listReasons([link, statSync(file, { throwIfNoEntry: false }) ?? link], directory, own)
  return reasons.length > 0 && isMountedReadOnly(file) ? undefined : reasons[0]
}

function listReasons(links: readonly Stats[], directory: Stats, own: number): string[] {
  const isOthers = ({ uid }: Stats): boolean => uid !== own && uid !== 0
  const isWritable = links.some(found => !found.isSymbolicLink() && (found.mode & ANYBODY_WRITES) !== 0)
  const isOpen = (directory.mode & ANYBODY_WRITES) !== 0 && (directory.mode & STICKY) === 0
  return [
    ...(links.some(isOthers) ? ['it belongs to another user'] : []),
    ...(isOthers(directory) ? ['its directory belongs to another user'] : []),
    ...(isWritable ? ['anybody can write to it'] : []),
    ...(isOpen ? ['anybody can write to its directory'] : []),
  ]
}

/** True if nothing on this machine can write the file: a container's volume may have any owner and mode. */
function isMountedReadOnly(file: string): boolean {
  try {
    const real = realpathSync(file)
    const [mount] = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .map(line => line.split(' '))
      .map(([, , , , point = '', options = '']) => ({
        point: unescapeOctal(point),
        options: options.split(','),
      }))
      .filter(
        ({ point }) => point !== '' && (real === point || real.startsWith(point === '/' ? '/' : `${point}/`)),
      )
      // The last mount on a point hides those before it.
      .reverse()
      .sort((a, b) => b.point.length - a.point.length)
    return mount?.options.includes('ro') === true
  } catch {
    return false
  }
}

function unescapeOctal(text: string): string {
  return text.replace(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))
}
