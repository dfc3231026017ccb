import type { SecureConnect } from './connection.ts'

/** Opens TLS connections, each later one with what the server remembers of the first. Loaded only where a URL wants it. */
export function secureConnect(): SecureConnect {
  const { connect } = process.getBuiltinModule('node:tls')
  let session: Buffer | undefined
  return options => {
    const socket = connect({ ...options, ...(session === undefined ? {} : { session }) })
    return socket.on('session', newest => (session = newest))
  }
}
