"""websocket_echo.py: a WebSocket server for the apps of tests, in a sandbox.

SOURCE is put before the app's own text.  Both ends of a preview or of proxy/
are Debian's python3-websockets, so that a change on the way is noticed.
"""

SOURCE = r"""
def websocket_echo(sock, head):
    '''Accepts the upgrade whose request is `head`; sends each message back.'''
    from websockets.frames import Opcode
    from websockets.server import ServerConnection
    library = ServerConnection()
    library.receive_data(head)
    library.send_response(library.accept(library.events_received()[0]))
    send = {Opcode.TEXT: library.send_text, Opcode.BINARY: library.send_binary}
    while True:
        for data in library.data_to_send():
            if not data:  # the library has done the closing handshake
                return sock.close()
            sock.sendall(data)
        data = sock.recv(65536)
        if not data:
            return sock.close()
        library.receive_data(data)
        for frame in library.events_received():
            if frame.opcode in send:
                send[frame.opcode](frame.data)
"""
