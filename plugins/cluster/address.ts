const ADDRESS = /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/
const SOCKET = 'unix:'
const MOST_PORT = 65_535

/** Place at which a replica takes requests. */
export type Reach = { readonly socketPath: string } | { readonly host: string; readonly port: number }

/** The parts of `host:port`, or of `[address]:port`; undefined for anything else. */
export function hostAndPort(text: string): { readonly host: string; readonly port: number } | undefined {
  const [, six, host = six, port] = ADDRESS.exec(text) ?? []
  return host === undefined || Number(port) > MOST_PORT ? undefined : { host, port: Number(port) }
}

/** The same of an entry of the directory; undefined for what is no address. */
export function reachOf(text: string): Reach | undefined {
  return text.startsWith(SOCKET) ? { socketPath: text.slice(SOCKET.length) } : hostAndPort(text)
}

export function socketAddress(path: string): string {
  return SOCKET + path
}

/** True for a host at which nobody can be reached, as it stands for every address of a machine. */
export function isEverywhere(host: string): boolean {
  return host === '0.0.0.0' || host === '::' || /^[0:]+$/.test(host)
}

/** True for a host that only programs of the same machine reach. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

export function addressOf(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
