import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs'
import type { Stats } from 'node:fs'
import { dirname } from 'node:path'
import { gatewayError } from '../../errors/errors.ts'

const ANYBODY_WRITES = 0o002
const STICKY = 0o1000

/**
 * Refuses a configuration that other users can write, as its commands would run with this user's rights.
 * @throws GatewayError GW_CONFIG_UNTRUSTED
 */
export function refuseUntrusted(file: string): void {
  const reason = explainUntrusted(file)
  if (reason !== undefined) throw gatewayError('GW_CONFIG_UNTRUSTED', { file, why: reason })
}

/** Reason why other users can write the file; undefined if only this user or root can. */
function explainUntrusted(file: string): string | undefined {
  const own = process.geteuid?.()
  const link = lstatSync(file, { throwIfNoEntry: false })
  // Missing if the text was given; its commands are not run.
  if (own === undefined || link === undefined) return undefined
  const directory = statSync(dirname(file))
  const reasons = listReasons([link, statSync(file, { throwIfNoEntry: false }) ?? link], directory, own)
  return reasons.length > 0 && isMountedReadOnly(file) ? undefined : reasons[0]
}

function listReasons(links: readonly Stats[], directory: Stats, own: number): string[] {
  const isOthers = ({ uid }: Stats): boolean => uid !== own && uid !== 0
  const isWritable = links.some(stats => !stats.isSymbolicLink() && (stats.mode & ANYBODY_WRITES) !== 0)
  const isOpen = (directory.mode & ANYBODY_WRITES) !== 0 && (directory.mode & STICKY) === 0
  return [
    ...(links.some(isOthers) ? ['owned by another user'] : []),
    ...(isOthers(directory) ? ['its directory is owned by another user'] : []),
    ...(isWritable ? ['writable by everyone'] : []),
    ...(isOpen ? ['its directory is writable by everyone'] : []),
  ]
}

/** True if the file is on a read-only mount, such as a container volume with any owner and mode. */
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
      .filter(({ point }) => point !== '' && (real === point || real.startsWith(point === '/' ? '/' : `${point}/`)))
      // Later mounts hide earlier ones on the same path.
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
